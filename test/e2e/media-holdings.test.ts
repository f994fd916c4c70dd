/**
 * The process that decodes untrusted video has nothing of its server but its pipes and the link, neither descriptors nor environment
 * variables. Source: docs/media.md, What the media process holds.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { openLegs, openMediaScene } from '../support/media-process-scene.ts';
import { mediaChild } from '../support/server-process.ts';
import { lastFirst } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'open files are looked at in /proc';

/** Descriptors of Node: event loops and their wakers; and the cache that tsx cleans at its start. */
const ofNode = /^(?:anon_inode:\[(?:eventpoll|eventfd|io_uring)\]|\/dev\/(?:null|urandom)|\/.*\/tsx-\d+)$/;
const environmentAllowed = new Set(['PATH', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'NODE_OPTIONS']);

interface OpenFile {
  readonly descriptor: number;
  readonly target: string;
}

function openFiles(pid: number): OpenFile[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [{ descriptor: Number(name), target: readlinkSync(`/proc/${pid}/fd/${name}`) }];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
}

function targets(pid: number): Set<string> {
  return new Set(openFiles(pid).map(({ target }) => target));
}

/** Files, and descriptors shared with other processes, such as pipes and sockets. */
function foreign(pid: number, others: readonly number[]): OpenFile[] {
  const shared = new Set(others.flatMap((other) => [...targets(other)]));
  return openFiles(pid).filter(
    ({ target }) => !ofNode.test(target) && (target.startsWith('/') || shared.has(target)),
  );
}

function environmentOf(pid: number): string[] {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return entries.filter((entry) => entry !== '').map((entry) => entry.split('=', 1)[0] ?? '');
}

const secretive = {
  SECRET_OF_THE_OPERATOR: 'planted',
  NODE_EXTRA_CA_CERTS: '',
  REVEILLE_API_LISTEN: '127.0.0.1:0',
};

test('the media process has nothing of its server open', { skip }, async (context) => {
  const t = lastFirst(context);
  const scene = await openMediaScene(t, [], secretive);
  const { server } = scene;
  // Legs wait until FFmpeg is loaded, from files of its own.
  await openLegs(scene);
  const { pid } = await mediaChild(server);
  const family = familyOf(pid);
  assert.ok(
    family.some((member) => [...targets(member)].some((target) => target.endsWith('registry.mdb'))),
    'the server itself has its store open',
  );
  assert.deepEqual(foreign(pid, family), []);
  assert.deepEqual(
    environmentOf(pid).filter((name) => !environmentAllowed.has(name)),
    [],
  );
  assert.equal(await server.command.stop('SIGTERM'), 0);
});

/** Its ancestors, up to the process that the test started. */
function familyOf(pid: number): number[] {
  const parent = parentOf(pid);
  return parent === process.pid ? [] : [parent, ...familyOf(parent)];
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
