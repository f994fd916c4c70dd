import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { entriesOf, withRegistry } from '../../../../src/cli/admin/local-registry.ts';
import { addRegistryCommand } from '../../../../src/cli/registry/registry-command.ts';
import { auditPath } from '../../../../src/storage/audit/audit-files.ts';
import { AuditRefusal } from '../../../../src/storage/audit/audit-log.ts';
import { storeFileNames } from '../../../../src/storage/lmdb/store-format.ts';
import { linesInFile } from '../../../support/audit-scene.ts';
import { commandScene, type CommandScene } from '../../../support/command-scene.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const [device] = sampleRegistry.devices;
const withDevices = (...ids: readonly string[]): object => ({
  ...sampleRegistry,
  devices: ids.map((id) => ({ ...device, device_id: id })),
});

interface ImportScene extends CommandScene {
  readonly importing: (registry: object, ...options: readonly string[]) => Promise<void>;
  readonly devices: () => Promise<string[]>;
}

/** `answer`: of the person at the terminal. Default: no terminal. */
function importScene(t: Ending, answer?: (question: string) => boolean): ImportScene {
  const file = join(temporaryDirectory(t), 'registry.json');
  const openDialogue =
    answer &&
    (() => ({ ask: async (question: string) => (answer(question) ? 'y' : 'n'), close: () => undefined }));
  const scene = commandScene(t, addRegistryCommand, { ...(openDialogue && { openDialogue }) });
  return {
    ...scene,
    importing: async (registry, ...options) => {
      writeFileSync(file, JSON.stringify(registry));
      await scene.run('registry', 'import', file, ...options);
    },
    devices: () =>
      withRegistry(scene.dataDirectory, async (registry) => {
        const ids: string[] = [];
        for await (const { deviceId } of entriesOf(registry, 'device')) ids.push(deviceId);
        return ids;
      }),
  };
}

test('an import reports how many entries it added, changed, deleted and left', async (t) => {
  const { importing, output } = importScene(t);
  await importing(withDevices('A', 'B'));
  await importing({
    devices: [
      { ...device, device_id: 'B', disabled: true },
      { ...device, device_id: 'C' },
    ],
  });
  assert.match(output.text, /^imported 2 devices /);
  assert.match(output.text, /\n +ADDED +CHANGED +DELETED +UNCHANGED\ndevices +1 +1 +0 +0$/);
  const { changes } = output.json as { changes: { device: object } };
  assert.deepEqual(changes.device, { added: 1, changed: 1, deleted: 0, unchanged: 0 });
});

test('a replacing import shows its deletions, and deletes after a yes', async (t) => {
  const asked: string[] = [];
  let answer = false;
  const { importing, output, devices } = importScene(t, (question) => {
    asked.push(question);
    return answer;
  });
  await importing(withDevices('A', 'B', 'C'));
  await importing(withDevices('A', 'B', 'C', 'D'), '--replace');
  assert.deepEqual(asked, [], 'nothing is deleted, so nobody is asked');
  await assert.rejects(importing(withDevices('C'), '--replace'), {
    message: 'not imported',
    advice: 'nothing was changed',
  });
  assert.match(output.remarks.at(-1) ?? '', /This would delete 3 devices \(A, B, D\) of /);
  assert.deepEqual(await devices(), ['A', 'B', 'C', 'D']);
  answer = true;
  await importing(withDevices('C'), '--replace');
  assert.deepEqual(await devices(), ['C']);
  assert.deepEqual(asked, ['Delete them? [y/N]', 'Delete them? [y/N]']);
});

test('a confirmation covers only the number of deletions shown', async (t) => {
  const scene = importScene(t, () => {
    writeFileSync(file, JSON.stringify(withDevices()));
    return true;
  });
  await scene.importing(withDevices('A', 'B'));
  const file = join(temporaryDirectory(t), 'changing.json');
  writeFileSync(file, JSON.stringify(withDevices('B')));
  await assert.rejects(
    scene.run('registry', 'import', file, '--replace'),
    /2 of 2 devices, where 1 were confirmed/,
  );
  assert.deepEqual(await scene.devices(), ['A', 'B']);
});

test('without a terminal, deleting more than a tenth of a kind needs --yes', async (t) => {
  const { importing, devices } = importScene(t);
  await importing(withDevices('A', 'B'));
  await assert.rejects(importing(withDevices('B'), '--replace'), /would delete 1 of 2 devices.*\(--yes\)/);
  assert.deepEqual(await devices(), ['A', 'B']);
  await importing(withDevices('B'), '--replace', '--yes');
  assert.deepEqual(await devices(), ['B']);
});

test('a dry run reports the changes and writes nothing, not even a store', async (t) => {
  const { importing, devices, output, dataDirectory } = importScene(t);
  await importing(withDevices('A'), '--dry-run');
  assert.match(output.text, /^dry run: importing.*\n.*\n(?:.*\n)*devices +1 +0 +0 +0/);
  assert.deepEqual(readdirSync(dataDirectory), []);
  await importing(withDevices('A'));
  await importing(withDevices('B'), '--replace', '--dry-run');
  assert.match(output.text, /devices +1 +0 +1 +0\n(?:.*\n)*it would delete 1 device \(A\)$/);
  assert.equal((output.json as { dry_run: boolean }).dry_run, true);
  assert.deepEqual(await devices(), ['A']);
});

test('a dry run leaves the files of a store as they are', async (t) => {
  const { importing, dataDirectory } = importScene(t);
  const files = (): (Buffer | null)[] =>
    Object.values(storeFileNames).map((name) => {
      const path = join(dataDirectory, name);
      return existsSync(path) ? readFileSync(path) : null;
    });
  await importing(withDevices('A'));
  const before = files();
  await importing(withDevices('A', 'B'), '--dry-run');
  assert.deepEqual(files(), before);
});

test('Ctrl-C cancels an import into a store at rest', async (t) => {
  const { importing, devices, run, output } = importScene(t);
  await importing(withDevices('A'));
  const pipe = join(temporaryDirectory(t), 'devices.ndjson');
  assert.equal(spawnSync('sh', ['-c', 'mkfifo "$0"', pipe]).status, 0);
  const imported = assert.rejects(run('registry', 'import', pipe), {
    message: `${pipe}: the import was cancelled`,
    advice: 'nothing was changed',
  });
  // Opening blocks until the import opens the pipe too.
  const file = await open(pipe, 'w');
  await file.write(`${JSON.stringify({ ...device, device_id: 'B' })}\n`);
  process.emit('SIGINT');
  await file.close();
  await imported;
  assert.deepEqual(await devices(), ['A']);
  assert.deepEqual(output.remarks, ['cancelling the import']);
});

test('Ctrl-C after the commit reports that it is too late', async (t) => {
  const { importing, devices, output } = importScene(t);
  const answer = output.answer.bind(output);
  output.answer = (json, text) => {
    answer(json, text);
    process.emit('SIGINT');
  };
  await importing(withDevices('A'));
  assert.deepEqual(output.remarks, ['too late to cancel: the import was committed already']);
  assert.deepEqual(await devices(), ['A']);
});

test('an import into a store at rest is recorded in the audit log, under the system user, and refused without it', async (t) => {
  const { importing, dataDirectory } = importScene(t);
  await importing(withDevices('A'));
  const [line] = linesInFile(dataDirectory);
  assert.deepEqual(
    [line?.operator, line?.role, line?.from, line?.action, line?.result],
    ['cli', null, `pid ${process.pid}`, 'registry.import', 'ok'],
  );
  assert.ok(line?.user !== undefined);
  const other = importScene(t);
  mkdirSync(auditPath(other.dataDirectory));
  await assert.rejects(other.importing(withDevices('A')), AuditRefusal);
});
