/**
 * How every command is made: one set of manners (help, unknown flags, extra arguments, errors that name what was
 * wrong) on commander. Not a command itself.
 */
import { Command, InvalidArgumentError } from 'commander'
import { usageError } from './exit-codes.ts'
import { printable, quieten } from './terminal.ts'

/** A command of the program; give it its options and its action, and add it with `addCommand`. */
export function newCommand(name: string): Command {
  const command = new Command(name)
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      // Arguments are shown in errors: what a terminal would obey in them is not sent to it.
      outputError: (text, write) => {
        write(`${printable(text.trimEnd().replaceAll('\n', ' '))} (see ${pathOf(command)} --help)\n`)
      },
    })
    // What stands behind a command's name is that command's: `shadow --json` and `shadow report --json` are two flags.
    .enablePositionalOptions()
    // Commander only counts what is too many; the hook below names it.
    .allowExcessArguments()
  return command.hook('preAction', (_, action) => {
    if (action.opts()['quiet'] === true) quieten()
    const taken = action.registeredArguments
    if (taken.at(-1)?.variadic === true) return
    const [extra] = action.args.slice(taken.length)
    if (extra !== undefined) throw usageError(`error: unexpected argument '${extra}'`)
  })
}

/** The words that lead to a command: `aegis key derive`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** Help text behind the options: how it ends, and command lines that work. And the flag that every command has. */
export function describeEnds(
  command: Command,
  codes: readonly string[],
  examples: readonly string[],
): Command {
  if (!command.options.some(({ long }) => long === '--quiet')) {
    command.option('-q, --quiet', 'no notes and no progress on stderr')
  }
  const lines = ['', 'Exit codes:', ...codes.map(indent), '', 'Examples:', ...examples.map(indent)]
  return command.addHelpText('after', lines.join('\n'))
}

function indent(line: string): string {
  return `  ${line}`
}

/** For an option that may be given once; `parse` refuses a value by throwing what {@link refuseValue} makes. */
export function once<T>(parse: (value: string) => T): (value: string, previous: T | undefined) => T {
  return (value, previous) => {
    if (previous !== undefined) throw refuseValue('It was given twice.')
    return parse(value)
  }
}

/** For an option that may be given any number of times. */
export function each<T>(
  parse: (value: string) => T,
): (value: string, previous: readonly T[] | undefined) => T[] {
  return (value, previous = []) => [...previous, parse(value)]
}

/** The value of an option is wrong; commander names the option in front of this sentence. */
export function refuseValue(sentence: string): Error {
  return new InvalidArgumentError(sentence)
}

/** The parser of an option whose value is an integer within bounds. */
export function integerBetween(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = /^(0|[1-9][0-9]*)$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) {
      throw refuseValue(`It is an integer from ${String(least)} to ${String(most)}.`)
    }
    return number
  }
}

/** The parser of an option that names a file, and for which standard input cannot stand. */
export function fileName(value: string): string {
  if (value === '-') throw refuseValue('Standard input cannot be read here; name a file.')
  return nonEmpty(value)
}

/** The parser of an option whose value is any text but the empty one. */
export function nonEmpty(value: string): string {
  if (value === '') throw refuseValue('It is empty.')
  return value
}
