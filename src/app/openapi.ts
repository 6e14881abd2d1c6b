/**
 * The OpenAPI 3.1 document: paths from the descriptions that the routes carry, schemas from the very ones that bodies
 * are held against. Made when it is first asked for, not at start-up.
 */
import { toJsonSchema } from '@valibot/to-json-schema'
import type { Hono } from 'hono'
import { generateSpecs } from 'hono-openapi'
import type { GenericSchema } from 'valibot'
import {
  actAnswerSchema,
  adminKeyRequestSchema,
  agentChangeSchema,
  agentCreateSchema,
  agentListSchema,
  agentSchema,
  approvalActSchema,
  approvalListSchema,
  approvalReviewSchema,
  approvalStateSchema,
  authorizeAnswerSchema,
  authorizeRequestJsonSchemas,
  authorizeRequestSchema,
  callListSchema,
  consumeRequestSchema,
  denialSchema,
  explanationSchema,
  foundCallSchema,
  grantListSchema,
  groupChangeSchema,
  groupListSchema,
  healthSchema,
  keyIssuedSchema,
  keyListSchema,
  keyRequestSchema,
  policyActivatedSchema,
  policyListSchema,
  policyPushedSchema,
  problemSchema,
  publicKeysSchema,
  reportAnswerSchema,
  reportRequestSchema,
  segmentIndexSchema,
  tenantCreateSchema,
  tenantCreatedSchema,
  tenantListSchema,
  tenantSchema,
  toolListSchema,
  webhookSecretSchema,
} from '../protocol/index.ts'
import type { SchemaName } from './descriptions.ts'
import type { RequestScope } from './request-scope.ts'

export async function openApiDocument(app: Hono<RequestScope>): Promise<object> {
  return generateSpecs(app, {
    excludeStaticFile: false,
    documentation: {
      info: {
        title: 'Aegis Edge',
        version: '1',
        description: 'Decisions on the tool calls of agents, each recorded and signed.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', bearerFormat: 'aegis_<role>_<tenant>_…' } },
        schemas: Object.fromEntries(
          Object.entries(schemas).map(([name, schema]) => [name, toOpenApiSchema(schema)]),
        ),
      },
    },
  })
}

const schemas: Readonly<Record<SchemaName, GenericSchema>> = {
  ActAnswer: actAnswerSchema,
  AdminKeyRequest: adminKeyRequestSchema,
  Agent: agentSchema,
  AgentChange: agentChangeSchema,
  AgentCreate: agentCreateSchema,
  AgentList: agentListSchema,
  ApprovalAct: approvalActSchema,
  ApprovalList: approvalListSchema,
  ApprovalReview: approvalReviewSchema,
  ApprovalState: approvalStateSchema,
  CallList: callListSchema,
  ConsumeRequest: consumeRequestSchema,
  Denial: denialSchema,
  FoundCall: foundCallSchema,
  GrantList: grantListSchema,
  GroupChange: groupChangeSchema,
  GroupList: groupListSchema,
  KeyIssued: keyIssuedSchema,
  KeyList: keyListSchema,
  KeyRequest: keyRequestSchema,
  PolicyActivated: policyActivatedSchema,
  PolicyList: policyListSchema,
  PolicyPushed: policyPushedSchema,
  ReportAnswer: reportAnswerSchema,
  ReportRequest: reportRequestSchema,
  AuthorizeRequest: authorizeRequestSchema,
  AuthorizeAnswer: authorizeAnswerSchema,
  Explanation: explanationSchema,
  Health: healthSchema,
  Problem: problemSchema,
  PublicKeys: publicKeysSchema,
  SegmentIndex: segmentIndexSchema,
  Tenant: tenantSchema,
  TenantCreate: tenantCreateSchema,
  TenantCreated: tenantCreatedSchema,
  TenantList: tenantListSchema,
  ToolList: toolListSchema,
  WebhookSecret: webhookSecretSchema,
}

function toOpenApiSchema(schema: GenericSchema): object {
  const converted = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    // Bytes of UTF-8 and days that exist have no words in JSON Schema; descriptions say the first.
    ignoreActions: ['check'],
    overrideSchema: ({ valibotSchema }) => authorizeRequestJsonSchemas.get(valibotSchema),
  })
  delete converted.$schema
  return converted
}
