/** Compares docs/openapi.yaml with the code: routes, statuses, codes, messages and limits are equal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySchemaObject } from 'ajv/dist/2020.js';
import { batchEntryCodes, codeTexts, deviceCodes, endpointCodes } from '../../src/model/codes.ts';
import { eventTypes } from '../../src/model/events.ts';
import { batchDevicesMax, deviceIdBytesMax, requestIdBytesMax } from '../../src/model/limits.ts';
import { unixSecondsMax } from '../../src/model/provisioning-limits.ts';
import type { Route } from '../../src/gateways/api/route.ts';
import { apiRoutes } from '../../src/gateways/api/routes.ts';
import { requestFields } from '../../src/protocol/rest/request-fields.ts';
import { authFailures, missingHeader, outsideWindow } from '../../src/protocol/tgv1/auth-failure.ts';
import { signingHeaders } from '../../src/protocol/tgv1/signature.ts';
import { apiContract, examplesOf } from '../support/openapi.ts';
import { readFromRoot } from '../support/checkout.ts';

const { document, responses } = apiContract;

test('the version is that of the package', () => {
  const { version } = JSON.parse(readFromRoot('package.json')) as {
    version: string;
  };
  assert.equal(document.info.version, version);
});

test('the operations equal the routes, and each has its codes', () => {
  const operations = responses.map(({ operation }) => operation).filter((name) => !name.startsWith('*'));
  const declared = apiRoutes.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(new Set(operations), new Set(declared));
  assert.deepEqual(apiRoutes.map(({ name }) => name).toSorted(), Object.keys(endpointCodes).toSorted());
});

const methodNames = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

/** Codes answered before an endpoint's own checks, with the same status everywhere. */
const transportCodes = new Set([40000, 40105, 41100, 41300, 41500]);

for (const route of apiRoutes) {
  const { name, method, path } = route;
  const place = `${method} ${path}`;
  const operation = document.paths[path]?.[methodNames[method]];
  const own = responses.filter((response) => response.operation === place);

  test(`${name} documents the codes that it may answer, and those of earlier checks`, () => {
    const codes = own.flatMap((response) => response.codes);
    const transport = [...transportCodes].filter(
      (code) => code !== 41500 || method === 'POST' || method === 'PATCH',
    );
    assert.deepEqual(new Set(codes), new Set([0, ...transport, ...endpointCodes[name]]));
    assert.equal(codes.length, new Set(codes).size, 'each code has one status');
    const otherMethods = responses.filter((response) => response.operation === `* ${path}`);
    assert.deepEqual(
      otherMethods.map((response) => [response.status, response.codes]),
      [[405, [40500]]],
    );
  });

  test(`${name} documents each code under the status of its answer`, () => {
    for (const { status, codes } of own)
      for (const code of codes) assert.equal(status, statusOf(route, code), `${place} ${code}`);
  });

  test(`${name} documents X-Request-ID if its route accepts it, and the headers of the signature`, () => {
    const parameters = (operation?.parameters ?? []).map((parameter) => apiContract.resolve(parameter));
    const headers = parameters.filter((parameter) => parameter.in === 'header').map((header) => header.name);
    // OpenAPI describes Authorization as a security scheme.
    const signing = signingHeaders
      .map(([, spelled]) => spelled)
      .filter((header) => header !== 'Authorization');
    assert.deepEqual(headers, route.acceptsRequestId ? [...signing, 'X-Request-ID'] : signing);
  });

  test(`${name} documents its permission`, () => {
    const [, permission] = /^Permission `([^`]+)`/m.exec(operation?.description ?? '') ?? [];
    assert.equal(permission, route.permission);
  });

  test(`${name} documents a body if its method has one, and its maximum size`, () => {
    const body = operation?.requestBody;
    assert.equal(body !== undefined, method === 'POST' || method === 'PATCH');
    const kibibytes = `${route.bodyBytesMax / 1024} KiB`;
    assert.ok(body === undefined || body.description?.includes(`at most ${kibibytes}`), body?.description);
    const tooLarge = apiContract.resolve(operation?.responses['413'] ?? {});
    assert.ok(tooLarge.description?.includes(kibibytes), tooLarge.description);
  });
}

function statusOf(route: Route, code: number): number {
  if (code === 0) return route.successStatus;
  return route.statusFromCode || transportCodes.has(code) ? Math.floor(code / 100) : 200;
}

/** Field names of a body, or keys of a query. */
function requestNames({ name, method, path }: Route): string[] {
  const { parameters = [], requestBody } = document.paths[path]?.[methodNames[method]] ?? {};
  const body = requestBody?.content['application/json']?.schema;
  if (body !== undefined) return Object.keys(propertiesOf(body));
  const all = parameters.map((parameter) => apiContract.resolve(parameter));
  const query = all.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name);
  assert.ok(query.length > 0, name);
  return query;
}

function propertiesOf(schema: AnySchemaObject): Record<string, AnySchemaObject> {
  return apiContract.resolve(schema)['properties'] as Record<string, AnySchemaObject>;
}

test('the fields and query keys of our own requests equal the documented ones', () => {
  const ofSource = new Set<string>(['connectivity', 'wakeup', 'call-status', 'call-credentials']);
  const own = apiRoutes.filter(({ name }) => !ofSource.has(name));
  const { devices = {} } = propertiesOf({ $ref: '#/components/schemas/DevicesRequest' });
  const documented = [
    ...own.map((route) => [route.name, requestNames(route)] as const),
    ['added-device', Object.keys(propertiesOf(devices['items'] as AnySchemaObject))] as const,
  ];
  const sorted = (requests: readonly (readonly [string, readonly string[]])[]): object =>
    Object.fromEntries(requests.map(([name, fields]) => [name, fields.toSorted()]));
  assert.deepEqual(sorted(documented), sorted(Object.entries(requestFields)));
});

test('every code of the table is documented, and no other', () => {
  const documented = [...responses.flatMap(({ codes }) => codes), ...deviceCodes];
  assert.deepEqual(new Set(documented), new Set(Object.keys(codeTexts).map(Number)));
});

test('the stable messages of a 401 are documented, and no other text is one', () => {
  const stable = [
    ...signingHeaders.map(([, spelled]) => missingHeader(spelled).message),
    ...Object.values(authFailures).map(({ message }) => message),
    outsideWindow(Date.UTC(2026, 10, 20)).message,
  ];
  for (const message of stable) assert.ok(accepts('AuthenticationMessage', message), message);
  assert.ok(!accepts('AuthenticationMessage', 'Signature mismatch'));
});

test('the latest expiry of a device equals that of the code', () => {
  const moments = [-1, 0, unixSecondsMax, unixSecondsMax + 1];
  assert.deepEqual(
    moments.map((moment) => apiContract.compile({ $ref: '#/components/schemas/DeviceExpiry' })(moment)),
    [false, true, true, false],
  );
});

test('limits equal those of the code', () => {
  const limits = { DeviceId: deviceIdBytesMax, RequestId: requestIdBytesMax };
  for (const [name, max] of Object.entries(limits)) {
    const texts = ['', 'x', 'x'.repeat(max), 'x'.repeat(max + 1)];
    assert.deepEqual(
      texts.map((text) => accepts(name, text)),
      [false, true, true, false],
    );
  }
});

test('the maximum size of a batch and the codes of its entries equal those of the code', () => {
  const schemas = document.components['schemas'] as {
    ConnectivityEntryFailure: { properties: { code: { enum: readonly number[] } } };
    ConnectivityBatchRequest: { properties: { device_ids: { maxItems: number } } };
  };
  assert.deepEqual(schemas.ConnectivityEntryFailure.properties.code.enum, batchEntryCodes);
  assert.equal(schemas.ConnectivityBatchRequest.properties.device_ids.maxItems, batchDevicesMax);
});

test('the codes of single devices equal those of the code', () => {
  const codes = apiContract.compile({
    $ref: '#/components/schemas/DevicesAnswer/properties/data/properties/devices/items/properties/code',
  });
  const known = [0, ...Object.keys(codeTexts).map(Number)].filter((code) => codes(code));
  assert.deepEqual(new Set(known), new Set([0, ...deviceCodes]));
});

test('the types of events equal those of the code', () => {
  const schemas = document.components['schemas'] as {
    Event: { properties: { type: { enum: readonly string[] } } };
  };
  assert.deepEqual(schemas.Event.properties.type.enum, eventTypes);
});

function accepts(schemaName: string, value: string): boolean {
  return apiContract.compile({ $ref: `#/components/schemas/${schemaName}` })(value);
}

test('every example matches its own schema', () => {
  let seen = 0;
  const check = (place: string, matches: (value: unknown) => unknown, examples: readonly unknown[]): void => {
    for (const example of examples) assert.ok(matches(example), `${place}: ${JSON.stringify(example)}`);
    seen += examples.length;
  };
  for (const { operation, status, body, examples } of responses)
    check(`${operation} ${status}`, body, examples);
  for (const item of Object.values(document.paths))
    for (const operation of [item.get, item.post, item.patch, item.delete]) {
      for (const parameter of operation?.parameters ?? []) {
        const { name, schema, ...rest } = apiContract.resolve(parameter);
        check(name, apiContract.compile(schema), examplesOf(rest));
      }
      for (const media of Object.values(operation?.requestBody?.content ?? {}))
        check('a request body', apiContract.compile(media.schema), examplesOf(media));
    }
  assert.ok(seen > 15, `${seen} examples were seen`);
});
