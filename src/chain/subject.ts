/**
 * Subjects are compared with ASCII letters lowercased, and nothing else folded (authorize.md §4): under Unicode's rules
 * KELVIN SIGN would be the letter k, and one person's vote another's.
 */
export function foldSubject(subject: string): string {
  return subject.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
