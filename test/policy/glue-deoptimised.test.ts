/**
 * V8 11.3 ends the process when a caller is deoptimised while a wasm call inlined into it returns a reference
 * (src/policy/glue.ts, outOfLine). A child process, since the failure is a crash: a hot caller is optimised, and
 * deoptimised from inside the call, by V8's own test functions.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'aegis-deoptimised-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const root = fileURLToPath(new URL('../..', import.meta.url))

const script = `
import { readFileSync } from 'node:fs';
import { instantiateCedar } from './glue.mjs';
const cedar = instantiateCedar(new WebAssembly.Module(readFileSync(process.argv[2])));
cedar.preparsePolicySet('set', { staticPolicies: 'permit(principal, action, resource);' });
const call = {
  principal: { type: 'Agent', id: 'a' }, action: { type: 'Action', id: 'a' }, resource: { type: 'Resource', id: '' },
  context: {}, entities: [], preparsedPolicySetId: 'set', validateRequest: false,
};
const parse = JSON.parse;
let deoptimises = false;
JSON.parse = (text) => { if (deoptimises) { %DeoptimizeFunction(hot); } return parse(text); };
function hot() { return cedar.statefulIsAuthorized(call).type; }
%PrepareFunctionForOptimization(hot);
for (let i = 0; i < 2000; i += 1) hot();
%OptimizeFunctionOnNextCall(hot);
hot();
if ((%GetOptimizationStatus(hot) & 16) === 0) throw new Error('the caller was not optimised');
deoptimises = true;
process.stdout.write(hot());
`

it('a caller that is deoptimised during a call gets its answer', () => {
  buildSync({
    absWorkingDir: root,
    entryPoints: ['src/policy/glue.ts'],
    outfile: join(folder, 'glue.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  })
  writeFileSync(join(folder, 'script.mjs'), script)
  const wasm = join(root, 'node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm')
  const args = ['--allow-natives-syntax', join(folder, 'script.mjs'), wasm]
  const { signal, stderr, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ signal, stderr, stdout }).toEqual({ signal: null, stderr: '', stdout: 'success' })
})
