/** `aegis policy`: the commands for people who write bundles and put them in force. Each is a file beside this one. */
import type { Command } from 'commander'
import { newCommand } from '../command.ts'
import { policyActivateCommand, policyRollbackCommand, policyShadowCommand } from './policy-activate.ts'
import { policyCoverageCommand } from './policy-coverage.ts'
import { policyDiffCommand } from './policy-diff.ts'
import { policyExplainCommand } from './policy-explain.ts'
import { policyHashCommand } from './policy-hash.ts'
import { policyInitCommand } from './policy-init.ts'
import { policyListCommand } from './policy-list.ts'
import { policyPushCommand } from './policy-push.ts'
import { policySchemaCommand } from './policy-schema.ts'
import { policyTestCommand } from './policy-test.ts'
import { policyValidateCommand } from './policy-validate.ts'

/** @param recheckWorkerUrl the built module of the threads of a recheck. */
export function policyCommand(recheckWorkerUrl: URL): Command {
  return newCommand('policy')
    .summary('write, validate and test policy bundles, and put them in force')
    .addCommand(policyInitCommand())
    .addCommand(policyValidateCommand())
    .addCommand(policyTestCommand())
    .addCommand(policyHashCommand())
    .addCommand(policySchemaCommand())
    .addCommand(policyExplainCommand())
    .addCommand(policyCoverageCommand(recheckWorkerUrl))
    .addCommand(policyDiffCommand())
    .addCommand(policyPushCommand(recheckWorkerUrl))
    .addCommand(policyActivateCommand())
    .addCommand(policyRollbackCommand())
    .addCommand(policyShadowCommand())
    .addCommand(policyListCommand())
}
