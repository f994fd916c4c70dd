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

/** The id, the cursor, and a mark when events before it were lost. */
function brief({ event, cursor, truncated }: FollowedEvent): string {
  return `${event.id} ${cursor}${truncated ? ' truncated' : ''}`;
}

interface Following extends ClientScene {
  /** What has been told so far. */
  readonly told: string[];
  /** Resolves with the error that ended it, or undefined. */
  readonly over: Promise<unknown>;
}

/** Every call is made once: what is tried again here is the follower's doing. */
function follow(script: readonly ScriptEntry[], options: FollowOptions = {}): Following {
  const scene = playScript([...script, silence], { attemptsMax: 1 });
  const told: string[] = [];
  const run = async (): Promise<void> => {
    for await (const followed of scene.client.followEvents(options)) told.push(brief(followed));
  };
  return { ...scene, told, over: run().catch((error: unknown) => error) };
}

test('events come one after the other, each with where to go on when it is done', async () => {
  const { told, transport, client, over } = follow(
    [page(['a', 'b'], 'c2'), page([], 'c3'), page(['c'], 'c4')],
    { after: 'c0', limit: 2, waitS: 20 },
  );
  await untilIdle();
  assert.deepEqual(told, ['a c0', 'b c2', 'c c4']);
  const targets = transport.requests.map(({ target }) => target);
  assert.deepEqual(
    targets,
    ['c0', 'c2', 'c3', 'c4'].map((after) => `/v1/events?after=${after}&limit=2&wait=20`),
  );
  client.close();
  assert.equal(await over, undefined);
});

test('from the oldest on, an event within the first page has no cursor yet', async () => {
  const { told, client } = follow([page(['a', 'b'], 'c2')]);
  await untilIdle();
  assert.deepEqual(told, ['a null', 'b c2']);
  client.close();
});

test('now is fixed without waiting, so that a lost answer loses no event', async () => {
  const { told, transport, clock, client } = follow([page([], 'c7'), unanswered(), page(['a'], 'c8')], {
    after: 'latest',
  });
  await untilIdle();
  clock.advance(1000);
  await untilIdle();
  assert.deepEqual(told, ['a c8']);
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

test('what the log has lost is said with the next event, and once', async () => {
  const { told, client } = follow([page([], 'c4', true), page(['a', 'b'], 'c6')], { after: 'c0' });
  await untilIdle();
  assert.deepEqual(told, ['a c4 truncated', 'b c6']);
  client.close();
});

test('a server that cannot be reached is left alone for longer and longer, up to half a minute', async () => {
  const troubles: Error[] = [];
  const onTrouble = (error: Error): void => void troubles.push(error);
  const { transport, clock, told, client } = follow(
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
  assert.deepEqual(told, ['a c1', 'b c2']);
  assert.equal(troubles.length, 8);
  assert.ok(troubles.every((error) => error instanceof ReveilleUnreachableError));
  client.close();
});

test('what may pass is waited for: too many readers, a store that cannot be read, a page of a gateway', async () => {
  const troubles: string[] = [];
  const passing = [refused(42901), refused(50301), refused(50000), reply(502, '<html>'), reply(500, 'no')];
  const { clock, told, client } = follow([...passing, page(['a'], 'c1')], {
    after: 'c0',
    onTrouble: ({ name }) => void troubles.push(name),
  });
  for (const seconds of [1, 2, 4, 8, 16]) {
    await untilIdle();
    clock.advance(seconds * 1000);
  }
  await untilIdle();
  assert.deepEqual(told, ['a c1']);
  const { name } = ReveilleRefusedError;
  assert.deepEqual(troubles, [name, name, name, ReveilleProtocolError.name, ReveilleProtocolError.name]);
  client.close();
});

for (const [what, answer, ending] of [
  ['a credential that may not', refused(40301), ReveilleRefusedError],
  ['a signature that is refused', refused(40105), ReveilleRefusedError],
  ['a cursor that is none', refused(40003), ReveilleRefusedError],
  ['a server that is another', reply(404, '<html>'), ReveilleProtocolError],
] as const)
  test(`${what} ends it with an error`, async () => {
    const { over, clock } = follow([answer]);
    assert.ok((await over) instanceof ending);
    assert.equal(clock.pendingTimers, 0);
  });

for (const [when, script] of [
  ['waits for an event', []],
  ['leaves the server alone', [unsent()]],
] as const)
  test(`its signal ends it: while it ${when}`, async () => {
    const ending = new AbortController();
    const { over, clock } = follow(script, { after: 'c0', signal: ending.signal });
    await untilIdle();
    ending.abort();
    assert.equal(await over, undefined);
    assert.equal(clock.pendingTimers, 0);
  });

test('its signal ends it: between two events of one page', async () => {
  const { client } = playScript([page(['a', 'b'], 'c2')]);
  const ending = new AbortController();
  const told: string[] = [];
  for await (const followed of client.followEvents({ signal: ending.signal })) {
    told.push(brief(followed));
    ending.abort();
  }
  assert.deepEqual(told, ['a null']);
});

test('a signal that is aborted before it begins asks for nothing', async () => {
  const { over, transport } = follow([], { signal: AbortSignal.abort() });
  assert.equal(await over, undefined);
  assert.equal(transport.requests.length, 0);
});

test('who stops reading asks for nothing more, and leaves nothing behind', async () => {
  const { client, transport, clock } = playScript([page(['a', 'b'], 'c2')]);
  for await (const followed of client.followEvents()) {
    assert.equal(followed.event.id, 'a');
    break;
  }
  await untilIdle();
  assert.equal(transport.requests.length, 1);
  assert.equal(clock.pendingTimers, 0);
});

test('a server that waits for nothing, as one that is being stopped, is asked once a second', async () => {
  const { clock, transport, client } = follow([page([], 'c0'), page([], 'c0')], { after: 'c0' });
  await untilIdle();
  assert.equal(transport.requests.length, 1);
  clock.advance(1000);
  await untilIdle();
  assert.equal(transport.requests.length, 2);
  client.close();
});
