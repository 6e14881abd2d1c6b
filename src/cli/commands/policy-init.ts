/**
 * `aegis policy init`: a starter bundle from the tools that an agent has or from the calls it made. Guesses are marked
 * for review; a folder that holds anything is left alone.
 */
import { toAsciiJson } from '../../verify/index.ts'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { hasErrors, normaliseIdentifiers, readBundle, runCases } from '../../policy/index.ts'
import { ObservedArguments, declaredFacts } from '../argument-facts.ts'
import { draftBundle } from '../bundle-draft.ts'
import { plural } from '../bundle.ts'
import { type CallName, nameCall, unnamedTool } from '../call-names.ts'
import { type DraftedTool, guessRisk } from '../catalogue-draft.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { CliError, exitCodes, unreadable, usageError } from '../exit-codes.ts'
import { cannotRead, closeInputs, openInputs } from '../input-files.ts'
import { policyMeans } from '../policy-engine.ts'
import { findCalls } from '../recorded-calls.ts'
import { readRows } from '../recorded-rows.ts'
import { Output, hasColour, printable, styled, warn } from '../terminal.ts'
import { type ToolDefinition, findDefinitions } from '../tool-definitions.ts'

interface InitFlags {
  readonly from: string
  readonly tool?: string
  readonly json?: true
}

export function policyInitCommand(): Command {
  const command = newCommand('init')
    .summary('write a starter bundle from tool schemas or recorded calls')
    .description(
      "Writes a bundle into DIR from FILE: an MCP tools/list result, OpenAI's or Anthropic's tool schemas, or recorded\n" +
        'calls as aegis try reads them. What a tool risks and whether it changes state is guessed and marked REVIEW.\n' +
        'Nothing is ever overwritten: DIR must not exist, or be empty.',
    )
    .argument('<dir>', 'folder to write')
    .addOption(
      new Option('--from <file>', 'where the tools come from; - is standard input')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--tool <name>',
        `the tool whose actions the names in FILE are (default: "${unnamedTool}", where a name does not say)`,
      ).argParser(once(nonEmpty)),
    )
    .option('--json', 'print one JSON object')
    .action(run)
  return describeEnds(
    command,
    [
      '0  written; its cases pass',
      '1  the folder holds something, or a tool could not be taken; or a usage error',
      '2  the file could not be read, or the folder not written',
      '3  written, but lines of the file could not be read; they are named',
    ],
    [
      'aegis policy init my-policies --from tools.json --tool github',
      'aegis policy init my-policies --from calls.jsonl',
    ],
  )
}

async function run(folder: string, flags: InitFlags): Promise<void> {
  // Before the file is read: an hour of piping must not end at a full folder.
  await requireVacant(folder)
  const { tools, refused } = await readTools(flags)
  for (const name of refused)
    warn(`aegis policy init: left out, since its name is not one that a tool can have: ${name}`)
  if (tools.length === 0)
    throw usageError(`error: --from: ${flags.from} holds no tool schema and no tool call`)
  const files = draftBundle(tools)
  const hash = checkDraft(files)
  await writeFolder(folder, files)
  if (refused.length > 0) process.exitCode ??= exitCodes.failed
  const output = new Output()
  await output.write(
    flags.json === true
      ? toAsciiJson({
          policy_set_hash: hash,
          files: [...files.keys()].sort(),
          tools: tools.map(toolObject),
          refused,
        })
      : resultText(folder, files, tools, hash),
  )
  await output.flush()
}

async function requireVacant(folder: string): Promise<void> {
  let names: readonly string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENOENT') return
      if (error.code === 'ENOTDIR')
        throw usageError(`error: ${folder} is a file; name a folder that does not exist yet`)
    }
    throw cannotRead(folder, error)
  }
  if (names.length > 0)
    throw usageError(`error: ${folder} is not empty; nothing is overwritten: name another folder`)
}

interface ReadTools {
  readonly tools: readonly DraftedTool[]
  /** Names that no tool can have. */
  readonly refused: readonly string[]
}

/** A definition says more than calls: where a file has both of a tool, it wins. */
async function readTools(flags: InitFlags): Promise<ReadTools> {
  const defined = new Map<string, DraftedTool>()
  const observed = new Map<string, { readonly name: CallName; readonly seen: ObservedArguments }>()
  const refused = new Set<string>()
  const named = (recorded: { readonly name: string; readonly action?: string }): CallName | undefined => {
    const { tool, action } = nameCall(recorded, flags.tool)
    const names = normaliseIdentifiers(tool, action)
    if (!names.ok) refused.add(recorded.name)
    return names.ok ? { tool: names.tool, action: names.action } : undefined
  }
  let unread = 0
  const inputs = await openInputs([flags.from])
  try {
    for (const input of inputs) {
      for await (const row of readRows(input)) {
        if (row.kind === 'unread') {
          unread += 1
          warn(`aegis policy init: line ${String(row.line)} was left out: ${row.why}`)
          continue
        }
        for (const definition of findDefinitions(row.value)) {
          const name = named(definition)
          if (name !== undefined) defined.set(keyOf(name), toDrafted(name, definition))
        }
        for (const call of findCalls(row.value)) {
          if (call.kind === 'broken') continue
          const name = named(call)
          if (name === undefined) continue
          const one = observed.get(keyOf(name)) ?? { name, seen: new ObservedArguments() }
          observed.set(keyOf(name), one)
          one.seen.add(call.parameters)
        }
      }
    }
  } finally {
    await closeInputs(inputs)
  }
  if (unread > 0) process.exitCode = exitCodes.indeterminate
  const tools = new Map(defined)
  for (const [key, { name, seen }] of observed) {
    if (tools.has(key)) continue
    tools.set(key, { ...name, facts: seen.facts(), source: plural(seen.calls, 'call') })
  }
  return { tools: [...tools.values()], refused: [...refused] }
}

function keyOf({ tool, action }: CallName): string {
  return `${tool}.${action}`
}

function toDrafted(name: CallName, { schema, readOnlyHint, destructiveHint }: ToolDefinition): DraftedTool {
  return {
    ...name,
    facts: declaredFacts(schema),
    source: 'its schema',
    ...(readOnlyHint === undefined ? {} : { readOnlyHint }),
    ...(destructiveHint === undefined ? {} : { destructiveHint }),
  }
}

/** What is written is valid and its cases pass; anything else is a bug of ours and must not reach the disk. */
function checkDraft(files: ReadonlyMap<string, string>): string {
  const means = policyMeans()
  const encoder = new TextEncoder()
  const bytes = new Map([...files].map(([path, text]) => [path, encoder.encode(text)]))
  const { bundle, findings } = readBundle(bytes, means)
  if (bundle === undefined || hasErrors(findings)) {
    throw new CliError(
      `error: these tools make no valid bundle: ${findings[0]?.message ?? ''}; ${findings[0]?.fix ?? ''}`,
    )
  }
  const failed = runCases(bundle, means).find((result) => !result.passed)
  if (failed !== undefined)
    throw new Error(`a drafted case fails: ${failed.name}: ${failed.problems.join('; ')}`)
  return bundle.policySet.policySetHash
}

/** Writes beside and renames, so that a folder is never half a bundle. */
async function writeFolder(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const target = resolve(folder)
  const beside = `${target}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await mkdir(dirname(target), { recursive: true })
    for (const [path, text] of files) {
      const file = join(beside, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text, { flag: 'wx' })
    }
    // Onto nothing, or onto an empty folder; one that was filled meanwhile stays as it is.
    await rename(beside, target)
  } catch (error) {
    await rm(beside, { recursive: true, force: true })
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw unreadable(`error: cannot write ${folder}: ${code}`)
  }
}

function toolObject(drafted: DraftedTool): object {
  const { risk, mutatesState } = guessRisk(drafted)
  return { tool_id: keyOf(drafted), risk, mutates_state: mutatesState, arguments_from: drafted.source }
}

function resultText(
  folder: string,
  files: ReadonlyMap<string, string>,
  tools: readonly DraftedTool[],
  hash: string,
): string {
  const colour = hasColour(process.stdout)
  const shown = printable(folder)
  const width = Math.max(...tools.map((one) => keyOf(one).length))
  const rows = tools.map((one) => {
    const { risk, mutatesState, because } = guessRisk(one)
    const state = mutatesState ? 'changes state' : 'reads'
    return `  ${keyOf(one).padEnd(width)}  ${risk.padEnd(6)}  ${state.padEnd(13)}  ${because}`
  })
  return [
    styled('guessed: correct these in tools.json', 'bold', colour),
    ...rows,
    '',
    `${styled('written', 'green', colour)}  ${shown}: ${[...files.keys()].sort().join(', ')}`,
    `policy_set_hash ${hash}`,
    '',
    `next: grep -rn REVIEW ${shown}`,
    `      aegis policy test ${shown}`,
    '',
  ].join('\n')
}
