/** The row of a connection that all nodes share. Source: docs/cluster.md; cluster.md, Ownership. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionKind, MemberId, SharedConnection } from '../../../../src/model/cluster.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import {
  neverShared,
  reduceShared,
  type SharedEvent,
  type SharedOutcome,
} from '../../../../src/model/state/shared-connection.ts';

/** `A s1 5`: a login at node A of session s1 at second 5, followed by `late` if reported late; `- s1 5`: its end. */
function eventOf(words: string): SharedEvent {
  const [node = '', name = '', second = '0', late] = words.split(' ');
  const [session, atMs] = [name as SessionId, Number(second) * 1000];
  if (node === '-') return { kind: 'ended', session, atMs, heartbeatAt: Number(second) - 1 };
  const member = `${node}@1` as MemberId;
  return { kind: 'login', member, node, session, atMs, isLate: late === 'late' };
}

function after(kind: ConnectionKind, happened: readonly string[]) {
  let row: SharedConnection = neverShared;
  let outcome: SharedOutcome = { kind: 'unmoved' };
  for (const words of happened) ({ row, outcome } = reduceShared(kind, row, eventOf(words)));
  return { row, outcome };
}

interface Case {
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly happened: readonly string[];
  /** Session and epoch of each slot. */
  readonly slots: readonly string[];
  /** The last outcome, with the sessions that it replaced. */
  readonly outcome: string;
}

const cases: readonly Case[] = [
  { name: 'a first login', kind: 'signal', happened: ['A s1 5'], slots: ['s1 1'], outcome: 'claimed' },
  {
    name: 'a login elsewhere takes the signal slot',
    kind: 'signal',
    happened: ['A s1 5', 'B s2 6'],
    slots: ['s2 2'],
    outcome: 'claimed s1',
  },
  {
    name: 'a login that is told twice',
    kind: 'signal',
    happened: ['A s1 5', 'A s1 5'],
    slots: ['s1 1'],
    outcome: 'claimed',
  },
  {
    name: 'a login that is told at once, though its clock is behind',
    kind: 'signal',
    happened: ['A s1 9', 'B s2 6'],
    slots: ['s2 2'],
    outcome: 'claimed s1',
  },
  {
    name: 'a late login behind a later one',
    kind: 'signal',
    happened: ['A s1 9', 'B s2 6 late'],
    slots: ['s1 1'],
    outcome: 'lost',
  },
  {
    name: 'a late login that is the later one',
    kind: 'signal',
    happened: ['A s1 5', 'B s2 6 late'],
    slots: ['s2 2'],
    outcome: 'claimed s1',
  },
  {
    name: 'an end empties the slot, and the next login goes on with the epochs',
    kind: 'signal',
    happened: ['A s1 5', '- s1 6', 'B s2 7'],
    slots: ['s2 2'],
    outcome: 'claimed',
  },
  {
    name: 'the end of a session that was replaced',
    kind: 'signal',
    happened: ['A s1 5', 'B s2 6', '- s1 9'],
    slots: ['s2 2'],
    outcome: 'unmoved',
  },
  {
    name: 'sleep slots of nodes add up to three',
    kind: 'sleep',
    happened: ['A s1 5', 'B s2 6', 'C s3 7'],
    slots: ['s1 1', 's2 2', 's3 3'],
    outcome: 'claimed',
  },
  {
    name: 'a node replaces its own sleep slot',
    kind: 'sleep',
    happened: ['A s1 5', 'B s2 6', 'C s3 7', 'B s4 8'],
    slots: ['s1 1', 's3 3', 's4 4'],
    outcome: 'claimed s2',
  },
  {
    name: 'a fourth node takes the oldest sleep slot',
    kind: 'sleep',
    happened: ['A s1 5', 'B s2 6', 'C s3 7', 'D s4 8'],
    slots: ['s2 2', 's3 3', 's4 4'],
    outcome: 'claimed s1',
  },
];

for (const { name, kind, happened, slots, outcome } of cases)
  test(`${name}: ${outcome}`, () => {
    const { row, outcome: last } = after(kind, happened);
    assert.deepEqual(
      row.slots.map(({ session, epoch }) => `${session} ${epoch}`),
      slots,
    );
    const taken = last.kind === 'claimed' ? last.superseded.map(({ session }) => session) : [];
    assert.equal([last.kind, ...taken].join(' '), outcome);
  });

test('times are the latest over all sessions, and an end that changes nothing leaves the row as it is', () => {
  const { row } = after('sleep', ['A s1 5', 'B s2 6', '- s2 9', '- s1 8']);
  const times = { lastLoginAt: 6, lastHeartbeatAt: 8, lastOfflineAt: 9 };
  assert.deepEqual(row, { epoch: 2, slots: [], ...times });
  assert.equal(reduceShared('sleep', row, eventOf('- s1 20')).row, row);
});
