/** Tests the OpenAPI check with a document of its own: for each rule a wrong answer that it has to reject. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenapiContract, type ObservedAnswer, type OpenapiDocument } from '../../support/openapi.ts';

const json = 'application/json; charset=utf-8';

/** An API for one lamp: GET only, with two codes under one status. */
const lamps: OpenapiDocument = {
  info: { version: '1' },
  paths: {
    '/lamp': {
      get: {
        responses: {
          '200': {
            headers: {
              'X-Id': { required: true, schema: { type: 'string', pattern: '^[0-9]+$' } },
              'X-Hint': { schema: { type: 'string' } },
            },
            content: {
              [json]: {
                schema: {
                  oneOf: [{ $ref: '#/components/schemas/Lamp' }, { $ref: '#/components/schemas/Dark' }],
                },
              },
            },
          },
          '404': { $ref: '#/components/responses/Gone' },
        },
      },
      'x-other-methods': { '405': { $ref: '#/components/responses/Gone' } },
    },
  },
  'x-other-paths': { '404': { content: { [json]: { schema: { type: 'object' } } } } },
  components: {
    responses: { Gone: { content: { [json]: { schema: { $ref: '#/components/schemas/Gone' } } } } },
    schemas: {
      Lamp: {
        type: 'object',
        required: ['code', 'colour'],
        additionalProperties: false,
        properties: { code: { const: 0 }, colour: { type: 'string' } },
      },
      Dark: {
        type: 'object',
        required: ['code'],
        additionalProperties: false,
        properties: { code: { enum: [1, 2] } },
      },
      Gone: { type: 'object', required: ['code'], properties: { code: { const: 404 } } },
    },
  },
};

const lit: ObservedAnswer = {
  status: 200,
  headers: { 'x-id': '7', 'content-type': json, 'content-length': '30', connection: 'keep-alive' },
  body: { code: 0, colour: 'red' },
};

test('a documented answer passes, also with a query and a trailing slash', () => {
  const contract = new OpenapiContract(lamps);
  contract.assertMatches('GET', '/lamp', lit);
  contract.assertMatches('GET', '/lamp/?x=1', lit);
  contract.assertMatches('GET', '/lamp', { ...lit, headers: { ...lit.headers, 'x-hint': 'soon' } });
});

const wrong: Readonly<Record<string, ObservedAnswer>> = {
  'a status that is not documented': { ...lit, status: 201 },
  'a body without a required field': { ...lit, body: { code: 0 } },
  'a body with one field more': { ...lit, body: { code: 0, colour: 'red', watts: 9 } },
  'a field of another type': { ...lit, body: { code: 0, colour: 4 } },
  'a code that is not documented': { ...lit, body: { code: 3 } },
  'a body that is none': { ...lit, body: undefined },
  'a required header left out': { ...lit, headers: { 'content-type': json } },
  'a header of another form': { ...lit, headers: { ...lit.headers, 'x-id': 'seven' } },
  'a header given twice': { ...lit, headers: { ...lit.headers, 'x-id': ['7', '7'] } },
  'a header that is not documented': { ...lit, headers: { ...lit.headers, 'x-powered-by': 'y' } },
  'another content type': { ...lit, headers: { ...lit.headers, 'content-type': 'application/json' } },
  'a content type left out': { ...lit, headers: { 'x-id': '7' } },
};
for (const [what, answer] of Object.entries(wrong))
  test(`the check sees ${what}`, () => {
    const contract = new OpenapiContract(lamps);
    assert.throws(() => contract.assertMatches('GET', '/lamp', answer), /not (?:as )?documented/);
    assert.equal(contract.unseen().length, 6);
  });

test('answers that were not matched are listed as unseen, by operation, status and code', () => {
  const contract = new OpenapiContract(lamps);
  const all = [
    'GET /lamp 200 0',
    'GET /lamp 200 1',
    'GET /lamp 200 2',
    'GET /lamp 404 404',
    '* /lamp 405 404',
    '* 404',
  ];
  assert.deepEqual(contract.unseen(), all);
  contract.assertMatches('GET', '/lamp', { ...lit, body: { code: 2 } });
  assert.deepEqual(contract.unseen(), [...all.slice(0, 2), ...all.slice(3)]);
});

test('another method and another path have answers of their own', () => {
  const contract = new OpenapiContract(lamps);
  const gone = { headers: { 'content-type': json }, body: { code: 404 } };
  contract.assertMatches('POST', '/lamp', { ...gone, status: 405 });
  contract.assertMatches('GET', '/lamps', { ...gone, status: 404, body: {} });
  contract.assertMatches('GET', '/lamp//', { ...gone, status: 404, body: {} });
  assert.deepEqual(contract.unseen(), [
    'GET /lamp 200 0',
    'GET /lamp 200 1',
    'GET /lamp 200 2',
    'GET /lamp 404 404',
  ]);
  assert.throws(() => contract.assertMatches('POST', '/lamp', lit), /\* \/lamp 200 is not documented/);
});

test('a HEAD is checked by status and headers, and counts for no code', () => {
  const contract = new OpenapiContract(lamps);
  contract.assertMatches('HEAD', '/lamp', {
    status: 405,
    headers: { 'content-type': json },
    body: undefined,
  });
  assert.ok(contract.unseen().includes('* /lamp 405 404'));
});

function broken(schema: object): OpenapiDocument {
  const responses = { '200': { content: { [json]: { schema } } } };
  return { ...lamps, paths: { '/lamp': { get: { responses } } } };
}

test('an invalid document is refused when it is read', () => {
  assert.throws(() => new OpenapiContract(broken({ $ref: '#/components/schemas/Missing' })));
  assert.throws(() => new OpenapiContract(broken({ type: 'object', requires: ['code'] })), /unknown keyword/);
  assert.throws(() => new OpenapiContract({ ...lamps, paths: {}, 'x-other-paths': {} }), /has responses/);
});
