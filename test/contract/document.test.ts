/** Third-party tools read docs/openapi.yaml: linters have no warnings, and generated types distinguish answers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { apiDocument, runTool } from './contract-tools.ts';

const folder = temporaryDirectory({ after });

/** A copy with one example that violates its schema. */
const spoilt = join(folder, 'spoilt.yaml');
const document = readFileSync(apiDocument, 'utf8');
writeFileSync(spoilt, document.replace('code: 40403, message: device does not exist', 'code: nobody'));

/** All findings of each linter, of any severity. */
const linters: Readonly<Record<string, (file: string) => Promise<string[]>>> = {
  async Redocly(file) {
    const { stdout } = await runTool('redocly', ['lint', '--format=json', file]);
    return messagesIn((JSON.parse(stdout) as { problems: { message: string }[] }).problems);
  },
  async Spectral(file) {
    const ruleset = fileURLToPath(new URL('test/contract/spectral.yaml', checkout));
    const args = ['lint', '--quiet', '--format=json', `--ruleset=${ruleset}`, file];
    return messagesIn(JSON.parse((await runTool('spectral', args)).stdout) as { message: string }[]);
  },
};

function messagesIn(problems: readonly { message: string }[]): string[] {
  return problems.map(({ message }) => message);
}

for (const [name, lint] of Object.entries(linters)) {
  test(`${name} has no warnings about docs/openapi.yaml`, async () => {
    assert.deepEqual(await lint(apiDocument), []);
  });

  test(`${name} warns about an example that violates its schema`, async () => {
    assert.notDeepEqual(await lint(spoilt), []);
  });
}

/** A field of each operation that only a success has. */
const successes: Readonly<Record<string, string>> = {
  "'/v1/device/connectivity', 'get'": 'signal.is_online satisfies boolean',
  "'/v1/devices/connectivity', 'post'": 'devices satisfies readonly object[]',
  "'/v1/device/wakeup-request', 'post'": "status satisfies 'accepted'",
  "'/v1/device/wakeup-request', 'get'": 'already_online satisfies boolean',
  "'/v1/device/message', 'post'": 'acknowledged_at satisfies string',
  "'/v1/events', 'get'": 'truncated satisfies boolean',
  "'/v1/device/msgvoip-call-status', 'get'": 'in_call satisfies boolean',
  "'/v1/device/msgvoip-call/end', 'post'": 'ended_at satisfies string',
  "'/v1/token/msgvoip', 'post'": 'peer_id satisfies string',
  "'/v1/devices', 'get'": 'next satisfies string | null',
  "'/v1/devices', 'post'": 'devices satisfies readonly object[]',
  "'/v1/devices', 'patch'": 'secret satisfies string | undefined',
  "'/v1/devices', 'delete'": 'removed satisfies true',
};

const head = `
import type { paths } from './openapi.ts';

type JsonOf<Response> = Response extends { content: { 'application/json; charset=utf-8': infer Body } } ? Body : never;
type Answer<Path extends keyof paths, Method extends keyof paths[Path]> =
  paths[Path][Method] extends { responses: infer All } ? JsonOf<All[keyof All]> : never;
`;

function useOf([operation, data]: readonly [string, string], index: number): string {
  return `
export function use${index}(r: Answer<${operation}>): void {
  if (r.code === 0) void (r.data.${data});
  // @ts-expect-error: a refusal has none.
  else void (r.data.${data});
  // @ts-expect-error: nobody knows yet.
  void (r.data.${data});
}
`;
}

test('generated types identify a success by code 0, for every operation', async () => {
  const [requests = ''] = document.split('\nwebhooks:\n');
  const operations = requests.match(/^      operationId: /gm) ?? [];
  assert.equal(Object.keys(successes).length, operations.length);
  const made = await runTool('openapi-typescript', [apiDocument, '-o', join(folder, 'openapi.ts')]);
  assert.equal(made.exitCode, 0, made.stderr);
  const use = join(folder, 'use.ts');
  writeFileSync(use, head + Object.entries(successes).map(useOf).join(''));
  const compiler = fileURLToPath(new URL('node_modules/.bin/tsc', checkout));
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--allowImportingTsExtensions',
    '--types',
    '',
  ];
  execFileSync(compiler, [...options, use], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
});
