// casbin, out of bench/node_modules: bench/policy.ts installs it on demand. Plain JavaScript, so that the project
// compiles without it; its types, as far as they are used, are in policy-casbin.d.mts.
export { StringAdapter, newEnforcer, newModelFromString } from 'casbin'
