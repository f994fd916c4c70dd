/** SIGUSR1, which opens the inspector of Node, has no effect in processes with secrets. Source: docs/threat-model.md. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { openMediaScene } from '../support/media-process-scene.ts';
import { mediaChild } from '../support/server-process.ts';
import { lastFirst } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'processes and sockets are read in /proc';

/** The process and its descendants. */
function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(familyOf)];
}

function openSockets(pid: number): Set<string> {
  const links = readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return [];
    }
  });
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

/** Listening TCP sockets of the process, IPv4 and IPv6. */
function listening(pid: number): string[] {
  const own = openSockets(pid);
  const rows = ['tcp', 'tcp6'].flatMap((file) =>
    readFileSync(`/proc/${pid}/net/${file}`, 'utf8').split('\n'),
  );
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && own.has(fields[9] ?? ''))
    .map((fields) => fields[1] ?? '')
    .sort();
}

/** Resolves when an unprotected process, signalled after the others, has opened its inspector. */
async function canaryOpens(): Promise<void> {
  const canary = spawn(process.execPath, [
    '--inspect-port=127.0.0.1:0',
    '-e',
    'console.log(1); setInterval(Date.now, 1e6)',
  ]);
  await once(canary.stdout, 'data');
  canary.kill('SIGUSR1');
  const [said] = (await once(canary.stderr, 'data')) as [Buffer];
  canary.kill('SIGKILL');
  assert.match(said.toString(), /Debugger listening/);
}

test(
  'SIGUSR1 opens no inspector in a supervisor, core, edge or media process, which continue',
  { skip },
  async (t) => {
    const { server, api } = await openMediaScene(lastFirst(t), [], {}, ['--edges', '1', '--fronts', '2']);
    const { pid: media } = await mediaChild(server);
    const family = familyOf(server.command.pid ?? 0);
    assert.ok(family.includes(media) && family.length >= 4, family.join());
    const before = family.map(listening);
    assert.ok(before.flat().length > 0);
    for (const pid of family) process.kill(pid, 'SIGUSR1');
    await canaryOpens();
    assert.deepEqual(family.map(listening), before);
    const left = familyOf(server.command.pid ?? 0);
    assert.deepEqual(
      family.filter((pid) => !left.includes(pid)),
      [],
      'a process has ended',
    );
    assert.ok(!/inspector|debugger/i.test(server.command.stderr), server.command.stderr);
    assert.equal((await api.connectivity('TESTDEVICE01')).status, 200);
    assert.equal(await server.command.stop('SIGTERM'), 0);
  },
);
