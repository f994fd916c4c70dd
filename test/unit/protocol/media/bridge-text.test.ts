import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callEndReasons, type CallReport } from '../../../../src/model/call.ts';
import { parseBridgeText } from '../../../../src/protocol/media/bridge-text.ts';

test('a bridge answers whether it takes the call it is offered', () => {
  for (const [type, accepted] of [
    ['accept', true],
    ['refuse', false],
  ] as const)
    assert.deepEqual(parseBridgeText(Buffer.from(JSON.stringify({ type, more: 1 }))), {
      ok: true,
      value: { kind: 'answer', accepted },
    });
});

function stateText(fields: object): Buffer {
  return Buffer.from(JSON.stringify({ type: 'state', ...fields }));
}

const reports: readonly (readonly [object, CallReport])[] = [
  [{ state: 'ringing' }, { kind: 'progress', state: 'ringing' }],
  [
    { state: 'attempting', reason: null },
    { kind: 'progress', state: 'attempting' },
  ],
  [
    { state: 'connected', reason: 7, session: 'x' },
    { kind: 'progress', state: 'connected' },
  ],
  [{ state: 'ended' }, { kind: 'end', reason: 'hangup_phone' }],
  [
    { state: 'ended', reason: null },
    { kind: 'end', reason: 'hangup_phone' },
  ],
  [
    { state: 'ended', reason: 'no such reason' },
    { kind: 'end', reason: 'error' },
  ],
  [
    { state: 'ended', reason: 3 },
    { kind: 'end', reason: 'error' },
  ],
  [
    { state: 'ended', reason: '' },
    { kind: 'end', reason: 'error' },
  ],
  ...callEndReasons.map(
    (reason) =>
      [
        { state: 'ended', reason },
        { kind: 'end', reason },
      ] as const,
  ),
];
for (const [fields, report] of reports)
  test(`a bridge that says ${JSON.stringify(fields)} reports ${JSON.stringify(report)}`, () => {
    const about = 'session' in fields ? fields.session : null;
    assert.deepEqual(parseBridgeText(stateText(fields)), {
      ok: true,
      value: { kind: 'report', report, about },
    });
  });

const stateSentence = /^the state is ringing, attempting, connected or ended$/;
const typeSentence = /^the type of a bridge is accept, refuse or state$/;
const formSentence = /^a text message is a JSON object with a type: /;
const bad: readonly (readonly [string, RegExp])[] = [
  ['', formSentence],
  ['[]', formSentence],
  ['{"type":"state","state":"ended"', formSentence],
  ['{}', typeSentence],
  ['{"type":"hangup"}', typeSentence],
  ['{"type":"reject"}', typeSentence],
  ['{"type":"assign"}', typeSentence],
  ['{"type":"state"}', stateSentence],
  ['{"type":"state","state":"issued"}', stateSentence],
  ['{"type":"state","state":"establishing"}', stateSentence],
  ['{"type":"state","state":"Ringing"}', stateSentence],
  ['{"type":"state","state":["ringing"]}', stateSentence],
  ['{"type":"state","state":null}', stateSentence],
];
for (const [text, sentence] of bad)
  test(`a bridge that says ${JSON.stringify(text)} is told what is expected`, () => {
    const parsed = parseBridgeText(Buffer.from(text));
    assert(!parsed.ok);
    assert.match(parsed.error, sentence);
  });
