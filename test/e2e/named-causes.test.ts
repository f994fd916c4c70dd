/** Operators receive the cause that the doctor would name, by commands, the ops listener and the audit log; backends receive a code. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditLine } from '../../src/model/audit.ts';
import { linesInFile } from '../support/audit-scene.ts';
import { runCli } from '../support/cli-process.ts';
import { limitProcess, noPrlimit } from '../support/process-limit.ts';
import type { SiteServer } from '../support/site-server.ts';
import { startTestSite } from '../support/test-site.ts';
import { until } from '../support/event-loop.ts';

const changes: readonly (readonly string[])[] = [
  ['device', 'disable', 'SLEEPING02'],
  ['device', 'add', 'GIVEN', '--product', 'doorbell'],
  ['product', 'add', 'p2', '--app', 'app-1'],
  ['credential', 'create', '--app', 'app-1'],
];

async function refusal(site: SiteServer, command: readonly string[]): Promise<string> {
  const { exitCode, stderr } = await runCli([...command, '--data-dir', site.directory]);
  assert.equal(exitCode, 1, command.join(' '));
  return stderr;
}

/** `target`: the begin of what they refer to. */
function descriptorsOf({ pid }: SiteServer, target = ''): number[] {
  const directory = join('/proc', String(pid), 'fd');
  const isWanted = (name: string): boolean => {
    try {
      return readlinkSync(join(directory, name)).startsWith(target);
    } catch {
      // It was closed meanwhile.
      return false;
    }
  };
  return readdirSync(directory).filter(isWanted).map(Number);
}

test('a change on a full disk is refused and audited with the cause', { skip: noPrlimit }, async (t) => {
  const site = await startTestSite(t);
  // Two pages, which LMDB writes in place, leave room for the lines of the audit log.
  limitProcess(site.pid, 'fsize', 2 * 4096);
  const disable = ['device', 'disable', 'SLEEPING02'];
  assert.match(await refusal(site, disable), /File too large.*: raise the limit of file sizes \(LimitFSIZE/);
  const lines = linesInFile(site.directory).filter(({ action }: AuditLine) => action === 'device.disable');
  assert.equal(lines.at(-1)?.result, 'failed');
  assert.match(lines.at(-1)?.reason ?? '', /raise the limit of file sizes/);
});

test('a server without free descriptors reports it', { skip: noPrlimit }, async (t) => {
  // Without threads that begin after `ready`, and with the operators' pages loaded, the server opens no more descriptors by itself.
  const site = await startTestSite(t, 'auth.verification=inline');
  const sockets = descriptorsOf(site, 'socket:').length;
  assert.equal((await runCli(['device', 'list', '--data-dir', site.directory])).exitCode, 0);
  // The connection of the command is closed.
  await until(() => descriptorsOf(site, 'socket:').length === sockets);
  const held = new Set(descriptorsOf(site));
  const free = Array.from({ length: held.size + 2 }, (_, number) => number).filter(
    (number) => !held.has(number),
  );
  // One number below the limit is free, for the connection of the command.
  execFileSync('prlimit', ['--pid', String(site.pid), `--nofile=${free[1]}:`]);
  const cause = /EMFILE.*: raise the limit of open files \(LimitNOFILE, ulimit -n\)/;
  for (const command of changes) assert.match(await refusal(site, command), cause, command.join(' '));
  execFileSync('prlimit', ['--pid', String(site.pid), '--nofile=20000:']);
});
