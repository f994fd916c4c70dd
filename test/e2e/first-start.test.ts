/** Registry of a start on an empty store: none, unless requested. Source: running.md, Data. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { sampleRegistry } from '../support/registry-entries.ts';
import { serveArguments } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

interface Started {
  readonly server: LongCommand;
  readonly reasons: () => Promise<unknown>;
}

async function start(t: Ending, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const server = new LongCommand(t, [...serveArguments([]), ...args], env);
  const { listeners } = await server.logged<{ listeners: { ops: string } }>('ready');
  const reasons = async (): Promise<unknown> => {
    const response = await fetch(`http://${listeners.ops}/readyz`);
    return [response.status, await response.json()];
  };
  return { server, reasons };
}

const ready = (...reasons: string[]): unknown => [200, { ready: true, reasons }];
const isEmptyLine = (line: string): boolean => line.includes('registry: empty');

test('a configured server on an empty store creates no secret, reports it, and is fixed by an import or SIGHUP', async (t) => {
  const folder = temporaryDirectory(t);
  const registry = join(folder, 'registry.json');
  const settings = join(folder, 'settings.json');
  writeFileSync(settings, JSON.stringify({ registry: { file: registry } }));
  writeFileSync(registry, '{}');
  const byImport = await start(t, ['--data-dir', join(folder, 'a')]);
  const byHangup = await start(t, ['--config', settings], { REVEILLE_DATA_DIR: join(folder, 'b') });
  for (const { server, reasons } of [byImport, byHangup]) {
    assert.deepEqual(await reasons(), ready('registry_empty'));
    assert.ok(server.lines.some(isEmptyLine));
    assert.doesNotMatch(server.stderr + server.lines.join('\n'), /secret|AK[0-9A-Z]{8}/);
  }
  const doctor = await runCli(['doctor', '--data-dir', join(folder, 'a')]);
  assert.match(
    doctor.stdout,
    /registry +is empty[^]*disk of the data directory is mounted[^]*its registry is empty/,
  );
  writeFileSync(registry, JSON.stringify(sampleRegistry));
  const imported = await runCli(['registry', 'import', registry, '--data-dir', join(folder, 'a')]);
  assert.equal(imported.exitCode, 0, imported.stderr);
  assert.deepEqual(await byImport.reasons(), ready());
  process.kill(byHangup.server.pid ?? 0, 'SIGHUP');
  await byHangup.server.logged('registry import: done', 2);
  assert.deepEqual(await byHangup.reasons(), ready());
});

test('a server with edges on an empty store shows the secrets of the demo registry once, only with --demo', async (t) => {
  const folder = temporaryDirectory(t);
  const asked = await start(t, ['--edges', '1', '--demo', '--data-dir', join(folder, 'a')]);
  assert.deepEqual(await asked.reasons(), ready());
  await asked.server.logged('console: ready');
  assert.equal(await asked.server.stop('SIGTERM'), 0);
  assert.equal(asked.server.stderr.match(/secret key +\S+/g)?.length, 1);
  const again = await start(t, ['--demo', '--data-dir', join(folder, 'a')]);
  await again.server.line((line) => line.includes('--demo adds nothing: the registry is not empty'));
  assert.doesNotMatch(again.server.stderr, /secret key/);
  const empty = await start(t, ['--edges', '1', '--data-dir', join(folder, 'b')]);
  assert.deepEqual(await empty.reasons(), ready('registry_empty'));
  assert.equal(await empty.server.stop('SIGTERM'), 0);
  assert.doesNotMatch(empty.server.stderr, /secret key/);
});
