/** From cases to the files below test/vectors: one case is one file, in JSON that any language can read. */
import type { ChainCase } from './chain-case.ts'
import { linkChains } from './chains-links.ts'
import { rowChains } from './chains-rows.ts'
import { signedChains } from './chains-signed.ts'
import { verifiedChains } from './chains-verified.ts'
import { actionCases, bindingCases, contentCases, keyCases, tagKeyCases } from './derivations.ts'
import { signatureCases } from './ed25519.ts'
import { headCases } from './heads.ts'
import { lineCases } from './lines.ts'
import { recheckCases } from './rechecks.ts'
import { receiptCases, trustStoreCases } from './receipts.ts'
import { numberCases, rowCases } from './values.ts'

/** Path below test/vectors, and its bytes as text. */
export type VectorFiles = ReadonlyMap<string, string>

export function allVectorFiles(): VectorFiles {
  return new Map([
    ...toFiles('3/rows', rowCases),
    ...toFiles('3/numbers', numberCases),
    ...toFiles('4/lines', lineCases),
    ...toFiles('5/ed25519', signatureCases),
    ...toFiles('6/action-hash', actionCases),
    ...toFiles('6/binding-hash', bindingCases),
    ...toFiles('6/content-address', contentCases),
    ...toFiles('6/line-key', keyCases),
    ...toFiles('6/tag-key', tagKeyCases),
    ...toFiles('7/receipts', receiptCases),
    ...toFiles('7/trust-stores', trustStoreCases),
    ...toFiles(
      '7/heads',
      headCases.map((one) => ({ ...one, files: one.files.map(toInput) })),
    ),
    ...toFiles(
      '10/rechecks',
      recheckCases.map((one) => ({ ...one, files: one.files.map(toInput) })),
    ),
    ...chainFiles([...verifiedChains, ...rowChains, ...linkChains, ...signedChains]),
  ])
}

function chainFiles(cases: readonly ChainCase[]): VectorFiles {
  return toFiles(
    '7/chains',
    cases.map(({ name, spec, files, options, expect }) => ({
      spec,
      name,
      files: files.map(toInput),
      ...(options === undefined ? {} : { options }),
      expect,
    })),
  )
}

/** A file of Lines as an array of its rows, other text as it is, anything else in base64. */
function toInput(bytes: Uint8Array): object {
  const text = Buffer.from(bytes).toString('utf8')
  if (!Buffer.from(text).equals(bytes)) return { base64: Buffer.from(bytes).toString('base64') }
  if (text === '' || !text.endsWith('\n')) return { text }
  return { lines: text.slice(0, -1).split('\n') }
}

function toFiles(folder: string, cases: readonly { readonly name: string }[]): VectorFiles {
  const files = new Map<string, string>()
  for (const one of cases) {
    if (!/^[a-z0-9-]+$/.test(one.name)) throw new Error(`no name for a file: ${one.name}`)
    const path = `${folder}/${one.name}.json`
    if (files.has(path)) throw new Error(`two cases are called ${path}`)
    files.set(path, `${JSON.stringify(one, undefined, 2)}\n`)
  }
  return files
}
