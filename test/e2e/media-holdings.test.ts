/**
 * What the process that decodes strangers' pictures holds of its server: nothing but its pipes and the link, in its table
 * of descriptors as in its environment. Source: docs/media.md, Secrets in the media process.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { openMediaScene } from '../support/media-process-scene.ts';
import { mediaChild } from '../support/server-process.ts';
import { lastFirst } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'open files are looked at in /proc';

/** Node's own: its loops, and what wakes them; and the cache that tsx tidies at its start. */
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

/** Files, and whatever one of the others has open as well: an end of a pipe, a socket. */
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

test('the media process holds nothing of its server', { skip }, async (context) => {
  const t = lastFirst(context);
  const { server } = await openMediaScene(t, [], secretive);
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

/** The processes above it, up to the one that the test started. */
function familyOf(pid: number): number[] {
  const parent = parentOf(pid);
  return parent === process.pid ? [] : [parent, ...familyOf(parent)];
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
