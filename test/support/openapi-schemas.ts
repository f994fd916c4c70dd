/**
 * Writes those schemas of docs/openapi.yaml that are generated from the code's decoders, each in its place. A test compares the
 * two.
 *
 *   node --import tsx test/support/openapi-schemas.ts
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { Document, isScalar, visit } from 'yaml';
import { z } from 'zod';
import { callCredentialsSchema } from '../../src/protocol/rest/call-credentials-schema.ts';
import { checkout } from './checkout.ts';

const file = fileURLToPath(new URL('docs/openapi.yaml', checkout));

/** Schemas by component name: what a caller may send, before defaults. */
export const madeSchemas: Readonly<Record<string, object>> = {
  CallCredentialsRequest: jsonSchemaOf(
    callCredentialsSchema
      .extend({
        audio_rate: leftToProduct(callCredentialsSchema.shape.audio_rate),
        audio_channels: leftToProduct(callCredentialsSchema.shape.audio_channels),
      })
      .describe(callCredentialsSchema.description ?? ''),
  ),
};

/** A field with a default in the device's product: it may be omitted in each way that an optional field may. */
function leftToProduct<const Choice extends number>(field: z.ZodLiteral<Choice>): z.ZodType {
  return z
    .literal([...field.values, '', null])
    .optional()
    .describe(field.description ?? '');
}

function jsonSchemaOf(schema: z.ZodType): object {
  // OpenAPI declares the schema dialect once for the whole document.
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'input' });
  return made;
}

/** Components are indented by four spaces, their contents by more. */
function replaceComponent(text: string, name: string, schema: object): string {
  const place = new RegExp(`^ {4}${name}:.*\\n(?:\\n* {5,}.*\\n)*`, 'm');
  assert.match(text, place, `docs/openapi.yaml has a place for ${name}`);
  const made = yamlOf({ [name]: schema }).replaceAll(/^(?=.)/gm, '    ');
  return text.replace(place, () => made);
}

function yamlOf(value: object): string {
  const document = new Document(value);
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar);
    },
  });
  return document.toString({ lineWidth: 100, blockQuote: 'literal' });
}

async function writeSchemas(): Promise<void> {
  let text = readFileSync(file, 'utf8');
  for (const [name, schema] of Object.entries(madeSchemas)) text = replaceComponent(text, name, schema);
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'yaml' }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeSchemas();
