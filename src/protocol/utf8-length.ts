/** How many bytes a text takes in UTF-8, without making them. Not for halves of surrogate pairs, which have none. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    // A pair is two units and four bytes: two more than its units.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 2
    else if (unit >= 0x80) bytes += 1
  }
  return bytes
}
