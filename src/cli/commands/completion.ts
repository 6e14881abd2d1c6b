/**
 * `aegis completion`: a script that teaches a shell the commands and flags, made from the commands themselves, so that
 * it is never out of date.
 */
import { Argument, type Command } from 'commander'
import { describeEnds, newCommand, pathOf } from '../command.ts'
import { Output } from '../terminal.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** @param program whose commands are completed; read when the script is printed. */
export function completionCommand(program: Command): Command {
  const command = newCommand('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script that completes commands, flags and file names of aegis.')
    .addArgument(new Argument('<shell>', 'whose script').choices(shells))
    .action(async (shell: Shell) => {
      const output = new Output()
      await output.write(completionScript(shell, program))
      await output.flush()
    })
  return describeEnds(
    command,
    ['0  printed', '1  usage error'],
    [
      'source <(aegis completion bash)',
      'aegis completion zsh > "${fpath[1]}/_aegis"',
      'aegis completion fish > ~/.config/fish/completions/aegis.fish',
    ],
  )
}

interface Completed {
  /** Words behind `aegis` that lead here, joined with one space; empty for the program itself. */
  readonly path: string
  /** What may stand next: commands, or the values that an argument can have. */
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly flags: readonly { readonly name: string; readonly summary: string; readonly takesValue: boolean }[]
}

function completedCommands(command: Command): Completed[] {
  const help = command.createHelp()
  const path = pathOf(command).split(' ').slice(1).join(' ')
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => ({ name, summary: description })),
  )
  const commands = [
    ...command.commands.map((sub) => ({ name: sub.name(), summary: sub.summary() })),
    ...choices,
  ]
  const flags = help.visibleOptions(command).map((option) => ({
    name: option.long ?? option.short ?? '',
    summary: option.description,
    takesValue: option.required,
  }))
  return [{ path, commands, flags }, ...command.commands.flatMap(completedCommands)]
}

/** The script as text. */
function completionScript(shell: Shell, program: Command): string {
  const completed = completedCommands(program)
  switch (shell) {
    case 'bash':
      return bashScript(completed)
    case 'zsh':
      return `#compdef aegis aegis-edge\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(completed)}`
    case 'fish':
      return fishScript(completed)
  }
}

function bashScript(completed: readonly Completed[]): string {
  const cases = completed.map(({ path, commands, flags }) => {
    const names = commands.map(({ name }) => name).join(' ')
    return `    '${path}') commands='${names}' flags='${flags.map(({ name }) => name).join(' ')}' ;;`
  })
  const paths = completed.map(({ path }) => `'${path}'`).filter((path) => path !== "''")
  // Where nothing is found, `-o default` offers file names.
  return [
    '_aegis() {',
    "  local current=\"${COMP_WORDS[COMP_CWORD]}\" path='' word commands='' flags=''",
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "${path:+$path }$word" in',
    `      ${paths.join('|')}) path="\${path:+$path }$word" ;;`,
    '    esac',
    '  done',
    '  case "$path" in',
    ...cases,
    '  esac',
    '  if [[ "$current" == -* ]]; then commands="$flags"; fi',
    '  COMPREPLY=($(compgen -W "$commands" -- "$current"))',
    '}',
    'complete -o default -F _aegis aegis aegis-edge',
    '',
  ].join('\n')
}

function fishScript(completed: readonly Completed[]): string {
  const lines = completed.flatMap(({ path, commands, flags }) => {
    const seen = path.split(' ').filter((word) => word !== '')
    const here = seen.map((word) => `__fish_seen_subcommand_from ${word}`)
    const notDeeper = commands.map(({ name }) => name).join(' ')
    const conditions = notDeeper === '' ? here : [...here, `not __fish_seen_subcommand_from ${notDeeper}`]
    const condition = conditions.length === 0 ? '' : ` -n '${conditions.join('; and ')}'`
    return [
      ...commands.map(
        ({ name, summary }) => `complete -c aegis${condition} -f -a ${name} -d ${fishText(summary)}`,
      ),
      ...flags.map(({ name, summary, takesValue }) => {
        const value = takesValue ? ' -r' : ''
        return `complete -c aegis${condition} -l ${name.replace(/^--/, '')}${value} -d ${fishText(summary)}`
      }),
    ]
  })
  return `${lines.join('\n')}\n`
}

function fishText(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
