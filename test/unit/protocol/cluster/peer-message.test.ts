import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { fail, succeed } from '../../../../src/lib/result.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerMessage,
} from '../../../../src/protocol/cluster/peer-message.ts';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { peerMessageBytesMax } from '../../../../src/model/limits.ts';
import { memberOne, peerMessages, questions, wakeupRequest } from '../../../support/peer-messages.ts';

const packr = new Packr({ useRecords: false });

/** Any value, as if a member of this version had sent it. */
function bytesOf(value: unknown): Uint8Array {
  return Buffer.concat([Buffer.of(1), packr.pack(value)]);
}

for (const [at, message] of peerMessages.entries())
  test(`message ${at}, a ${message.kind}, is decoded unchanged`, () => {
    const bytes = encodePeerMessage(message);
    assert.deepEqual(decodePeerMessage(bytes), succeed(message));
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(decodePeerMessage(bytes.subarray(0, length)).ok, false);
  });

test('the bytes of a wake packet do not keep their message in memory', () => {
  const message: PeerMessage = { kind: 'question', id: 1, from: memberOne, question: questions.wake };
  const read = decodePeerMessage(encodePeerMessage(message));
  assert.ok(read.ok && read.value.kind === 'question' && read.value.question.kind === 'wake');
  const { customData } = read.value.question.request;
  assert.deepEqual([customData, customData?.buffer.byteLength], [wakeupRequest.customData, 2]);
});

test('a message of another version is refused by its version, whatever its content', () => {
  const [message] = peerMessages;
  assert.ok(message);
  const bytes = encodePeerMessage(message);
  bytes[0] = 2;
  assert.deepEqual(decodePeerMessage(bytes), fail('version 2, this member speaks 1'));
  assert.deepEqual(decodePeerMessage(Uint8Array.of(0)), fail('version 0, this member speaks 1'));
  assert.deepEqual(decodePeerMessage(new Uint8Array(0)), fail('no bytes'));
});

test('a message may have bytes up to the limit, and no more', () => {
  const appId = 'APP1' as ApplicationId;
  const messageOf = (text: string): Uint8Array =>
    encodePeerMessage({ kind: 'answer', id: 1, to: 'find-call', answer: { appId, mediaUrl: text } });
  const room = peerMessageBytesMax - messageOf('x'.repeat(100_000)).length + 100_000;
  assert.equal(decodePeerMessage(messageOf('x'.repeat(room))).ok, true);
  assert.deepEqual(
    decodePeerMessage(messageOf('x'.repeat(room + 1))),
    fail(`${peerMessageBytesMax + 1} bytes, where at most ${peerMessageBytesMax} are allowed`),
  );
});

const question = { kind: 'question', id: 1, from: memberOne };
const disconnect = { kind: 'disconnect', deviceId: 'D1' };
const { wake } = questions;
const [slot] = wake.slots.sleep;
const hostile: Readonly<Record<string, unknown>> = {
  nothing: null,
  'a list': [question],
  'no kind': {},
  'another kind': { kind: 'order', from: memberOne },
  'a question of another kind': { ...question, question: { kind: 'dance' } },
  'a question too much': { ...question, question: { ...disconnect, more: 1 } },
  'a question of a negative number': { ...question, id: -1, question: disconnect },
  'a question beyond what is counted': { ...question, id: 2 ** 32, question: disconnect },
  'a question of nobody': { kind: 'question', id: 1, question: disconnect },
  'a question of who is no member': { ...question, from: 'node-1', question: disconnect },
  'a device without a name': { ...question, question: { kind: 'disconnect', deviceId: '' } },
  'a device whose name is too long': {
    ...question,
    question: { kind: 'disconnect', deviceId: 'é'.repeat(128) },
  },
  'a wakeup with a line in its id': {
    ...question,
    question: { ...wake, request: { ...wakeupRequest, requestId: 'a\nb' } },
  },
  'a wakeup of a device at too many members': {
    ...question,
    question: { ...wake, slots: { sleep: [slot, slot, slot, slot], signal: [] } },
  },
  'a wakeup of a device that nobody has said to be anywhere': {
    ...question,
    question: { ...wake, slots: null },
  },
  'a wakeup with three bytes': {
    ...question,
    question: { ...wake, request: { ...wakeupRequest, customData: Uint8Array.of(1, 2, 3) } },
  },
  'a wakeup at no time': {
    ...question,
    question: { ...wake, request: { ...wakeupRequest, signatureExpiresMs: Number.NaN } },
  },
  'a payload that is no JSON': {
    ...question,
    question: { ...questions.message, request: { ...questions.message, payload: Buffer.from('[1]') } },
  },
  'an answer to another kind of question': { kind: 'answer', id: 1, to: 'disconnect', answer: 'written' },
  'an answer to what is not asked': { kind: 'answer', id: 1, to: 'dance', answer: true },
  'a code that wakeups do not have': {
    kind: 'answer',
    id: 1,
    to: 'wake',
    answer: { ok: false, error: { code: 50401, message: 'm' } },
  },
  'a success that failed': {
    kind: 'answer',
    id: 1,
    to: 'wake',
    answer: { ok: true, error: { code: 50301, message: 'm' } },
  },
  'a notice of another kind': { kind: 'notice', from: memberOne, notice: { kind: 'rumour' } },
  'a set': new Set([question]),
  'a regular expression': /(a+)+$/,
  'a prototype': JSON.parse('{"__proto__":{"kind":"question"}}'),
};

for (const [name, value] of Object.entries(hostile))
  test(`${name} is no message, and the error states the fault`, () => {
    const read = decodePeerMessage(bytesOf(value));
    assert.ok(!read.ok);
    assert.match(read.error, /^[\w.]*: \S/);
  });
