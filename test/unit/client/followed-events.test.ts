import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ReveilleProtocolError,
  ReveilleRefusedError,
  ReveilleUnreachableError,
  type FollowedEvent,
  type FollowOptions,
} from '../../../src/client/reveille-client.ts';
import type { WireReply } from '../../../src/client/http-transport.ts';
import {
  playScript,
  refused,
  reply,
  untilIdle,
  silence,
  success,
  unanswered,
  unsent,
  type ClientScene,
  type ScriptEntry,
} from '../../support/scripted-transport.ts';

function page(ids: readonly string[], next: string, truncated = false): WireReply {
  return success({ events: ids.map((id) => ({ id })), next, truncated });
}

/** Id and cursor of an event, with a mark after lost events. */
function brief({ event, cursor, truncated }: FollowedEvent): string {
  return `${event.id} ${cursor}${truncated ? ' truncated' : ''}`;
}

interface Following extends ClientScene {
  /** Events received so far. */
  readonly received: string[];
  /** Resolves with the error that ended the iteration, or undefined. */
  readonly over: Promise<unknown>;
}

/** Follows without retries of single calls, so that every retry is the follower's. */
function follow(script: readonly ScriptEntry[], options: FollowOptions = {}): Following {
  const scene = playScript([...script, silence], { attemptsMax: 1 });
  const received: string[] = [];
  const run = async (): Promise<void> => {
    for await (const followed of scene.client.followEvents(options)) received.push(brief(followed));
  };
  return { ...scene, received, over: run().catch((error: unknown) => error) };
}

test('events arrive in order, each with the cursor to resume from', async () => {
  const { received, transport, client, over } = follow(
    [page(['a', 'b'], 'c2'), page([], 'c3'), page(['c'], 'c4')],
    { after: 'c0', limit: 2, waitS: 20 },
  );
  await untilIdle();
  assert.deepEqual(received, ['a c0', 'b c2', 'c c4']);
  const targets = transport.requests.map(({ target }) => target);
  assert.deepEqual(
    targets,
    ['c0', 'c2', 'c3', 'c4'].map((after) => `/v1/events?after=${after}&limit=2&wait=20`),
  );
  client.close();
  assert.equal(await over, undefined);
});

test('when reading from the oldest, an event within the first page has no cursor yet', async () => {
  const { received, client } = follow([page(['a', 'b'], 'c2')]);
  await untilIdle();
  assert.deepEqual(received, ['a null', 'b c2']);
  client.close();
});

test('`latest` becomes a cursor without waiting, so that a lost answer loses no event', async () => {
  const { received, transport, clock, client } = follow([page([], 'c7'), unanswered(), page(['a'], 'c8')], {
    after: 'latest',
  });
  await untilIdle();
  clock.advance(1000);
  await untilIdle();
  assert.deepEqual(received, ['a c8']);
  assert.deepEqual(
    transport.requests.map(({ target }) => target),
    [
      '/v1/events?after=latest&wait=0',
      '/v1/events?after=c7&wait=30',
      '/v1/events?after=c7&wait=30',
      '/v1/events?after=c8&wait=30',
    ],
  );
  client.close();
});

test('the next event after lost ones is marked as truncated, and only that one', async () => {
  const { received, client } = follow([page([], 'c4', true), page(['a', 'b'], 'c6')], { after: 'c0' });
  await untilIdle();
  assert.deepEqual(received, ['a c4 truncated', 'b c6']);
  client.close();
});

test('retries of an unreachable server back off to half a minute', async () => {
  const troubles: Error[] = [];
  const onTrouble = (error: Error): void => void troubles.push(error);
  const { transport, clock, received, client } = follow(
    [...Array.from({ length: 7 }, unsent), page(['a'], 'c1'), unsent(), page(['b'], 'c2')],
    { after: 'c0', onTrouble },
  );
  for (const [made, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
    await untilIdle();
    assert.equal(transport.requests.length, made + 1);
    clock.advance(seconds * 1000 - 1);
    await untilIdle();
    assert.equal(transport.requests.length, made + 1);
    clock.advance(1);
  }
  await untilIdle();
  clock.advance(1000);
  await untilIdle();
  assert.deepEqual(received, ['a c1', 'b c2']);
  assert.equal(troubles.length, 8);
  assert.ok(troubles.every((error) => error instanceof ReveilleUnreachableError));
  client.close();
});

test('temporary failures are retried: too many readers, an unreadable store, an error page of a proxy', async () => {
  const troubles: string[] = [];
  const passing = [refused(42901), refused(50301), refused(50000), reply(502, '<html>'), reply(500, 'no')];
  const { clock, received, client } = follow([...passing, page(['a'], 'c1')], {
    after: 'c0',
    onTrouble: ({ name }) => void troubles.push(name),
  });
  for (const seconds of [1, 2, 4, 8, 16]) {
    await untilIdle();
    clock.advance(seconds * 1000);
  }
  await untilIdle();
  assert.deepEqual(received, ['a c1']);
  const { name } = ReveilleRefusedError;
  assert.deepEqual(troubles, [name, name, name, ReveilleProtocolError.name, ReveilleProtocolError.name]);
  client.close();
});

for (const [what, answer, ending] of [
  ['a credential without permission', refused(40301), ReveilleRefusedError],
  ['a refused signature', refused(40105), ReveilleRefusedError],
  ['an invalid cursor', refused(40003), ReveilleRefusedError],
  ['the response of another server', reply(404, '<html>'), ReveilleProtocolError],
] as const)
  test(`${what} ends the iteration with an error`, async () => {
    const { over, clock } = follow([answer]);
    assert.ok((await over) instanceof ending);
    assert.equal(clock.pendingTimers, 0);
  });

for (const [when, script] of [
  ['waits for an event', []],
  ['backs off', [unsent()]],
] as const)
  test(`an aborted signal ends the iteration while it ${when}`, async () => {
    const ending = new AbortController();
    const { over, clock } = follow(script, { after: 'c0', signal: ending.signal });
    await untilIdle();
    ending.abort();
    assert.equal(await over, undefined);
    assert.equal(clock.pendingTimers, 0);
  });

test('an aborted signal ends the iteration between two events of a page', async () => {
  const { client } = playScript([page(['a', 'b'], 'c2')]);
  const ending = new AbortController();
  const received: string[] = [];
  for await (const followed of client.followEvents({ signal: ending.signal })) {
    received.push(brief(followed));
    ending.abort();
  }
  assert.deepEqual(received, ['a null']);
});

test('a signal aborted beforehand sends no request', async () => {
  const { over, transport } = follow([], { signal: AbortSignal.abort() });
  assert.equal(await over, undefined);
  assert.equal(transport.requests.length, 0);
});

test('a reader that stops sends no more requests and leaves no timer', async () => {
  const { client, transport, clock } = playScript([page(['a', 'b'], 'c2')]);
  for await (const followed of client.followEvents()) {
    assert.equal(followed.event.id, 'a');
    break;
  }
  await untilIdle();
  assert.equal(transport.requests.length, 1);
  assert.equal(clock.pendingTimers, 0);
});

test('a draining server, which answers long polls at once, is queried once a second', async () => {
  const { clock, transport, client } = follow([page([], 'c0'), page([], 'c0')], { after: 'c0' });
  await untilIdle();
  assert.equal(transport.requests.length, 1);
  clock.advance(1000);
  await untilIdle();
  assert.equal(transport.requests.length, 2);
  client.close();
});
