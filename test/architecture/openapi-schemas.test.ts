/** Checks that the schemas in docs/openapi.yaml which the code defines are generated from it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiContract } from '../support/openapi.ts';
import { madeSchemas } from '../support/openapi-schemas.ts';

test('docs/openapi.yaml has the schemas generated from the code', () => {
  const documented = apiContract.document.components['schemas'] as Record<string, unknown>;
  assert.ok(Object.keys(madeSchemas).length > 0);
  for (const [name, schema] of Object.entries(madeSchemas))
    assert.deepEqual(
      documented[name],
      schema,
      `${name} is stale: node --import tsx test/support/openapi-schemas.ts`,
    );
});
