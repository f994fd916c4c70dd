/**
 * Connections to the sleep port of several processes: those that wait to be accepted outlive the worker that was to accept
 * them. Source: cluster.md, Several processes on one machine.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sessionKeyLength } from '../../src/lib/session-key.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { lastFirst } from '../support/temporary-store.ts';

const site = await ProcessSite.open(lastFirst({ after }), 2);

/** A connection that was accepted reads its session key; one that was lost reads nothing. */
async function readsKey(peer: RawPeer): Promise<boolean> {
  const key = await peer.read(sessionKeyLength);
  peer.socket.destroy();
  return key.length === sessionKeyLength;
}

test('a connection that waits at a worker which hangs and is killed is accepted by another', async () => {
  const pid = await site.pidOf(1);
  process.kill(pid, 'SIGSTOP');
  const peers = await Promise.all(
    Array.from({ length: 100 }, () => RawPeer.connect(site.server.ports.sleep)),
  );
  const waiting = peers.filter(({ unread }) => unread === 0).length;
  process.kill(pid, 'SIGKILL');
  assert.ok(waiting > 0);
  const accepted = await Promise.all(peers.map(readsKey));
  assert.equal(accepted.filter(Boolean).length, peers.length);
  await site.replaced(1, pid);
});

test('no connection is lost while workers are drained and others come in their place', async () => {
  const before = await Promise.all([1, 2].map((process) => site.pidOf(process)));
  const stopping = new AbortController();
  const accepted: boolean[] = [];
  const calling = Array.from({ length: 4 }, async () => {
    while (!stopping.signal.aborted)
      accepted.push(await readsKey(await RawPeer.connect(site.server.ports.sleep)));
  });
  process.kill(site.pid, 'SIGUSR2');
  await Promise.all([1, 2].map((process, index) => site.replaced(process, before[index] ?? 0)));
  stopping.abort();
  await Promise.all(calling);
  assert.ok(accepted.length > 0);
  assert.equal(accepted.filter((wasAccepted) => !wasAccepted).length, 0, `of ${accepted.length}`);
});
