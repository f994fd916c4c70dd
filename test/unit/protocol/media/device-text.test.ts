import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallReport } from '../../../../src/model/call.ts';
import { parseDeviceText } from '../../../../src/protocol/media/device-text.ts';

const good: readonly (readonly [string, CallReport])[] = [
  ['{"type":"accept"}', { kind: 'progress', state: 'attempting' }],
  ['{"type":"reject"}', { kind: 'end', reason: 'rejected' }],
  ['{"type":"hangup"}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":0}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":1}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":2}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":3}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":4}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":5}', { kind: 'end', reason: 'busy' }],
  ['{"type":"hangup","reason":6}', { kind: 'end', reason: 'timeout' }],
  ['{"type":"hangup","reason":7}', { kind: 'end', reason: 'rejected' }],
  ['{"type":"hangup","reason":8}', { kind: 'end', reason: 'error' }],
  ['{"type":"hangup","reason":1.0}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":9}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":-1}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":0.5}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":1e300}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":"5"}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":"length"}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":null}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":[5]}', { kind: 'end', reason: 'hangup_device' }],
  ['{"type":"hangup","reason":true}', { kind: 'end', reason: 'hangup_device' }],
  [
    ' {"more":{"type":"reject"}, "type" : "accept" , "reason":9}\n',
    { kind: 'progress', state: 'attempting' },
  ],
  ['{"type":"reject","type":"accept"}', { kind: 'progress', state: 'attempting' }],
];
for (const [text, report] of good)
  test(`a device that says ${text.trim()} reports ${JSON.stringify(report)}`, () => {
    assert.deepEqual(parseDeviceText(Buffer.from(text)), { ok: true, value: report });
  });

const typeSentence = /^the type of a device is accept, reject or hangup$/;
const formSentence = /^a text message is a JSON object with a type: /;
const bad: readonly (readonly [string, RegExp])[] = [
  ['', formSentence],
  ['accept', formSentence],
  ['{"type":"accept"', formSentence],
  ['null', formSentence],
  ['["accept"]', formSentence],
  ['"accept"', formSentence],
  ['\ufeff{"type":"accept"}', formSentence],
  ['{"type":"accept","x":"\\ud800"}', formSentence],
  ['{}', typeSentence],
  ['{"type":null}', typeSentence],
  ['{"type":["accept"]}', typeSentence],
  ['{"type":"ACCEPT"}', typeSentence],
  ['{"type":"accept "}', typeSentence],
  ['{"type":"state","state":"connected"}', typeSentence],
  ['{"type":"refuse"}', typeSentence],
  ['{"type":"__proto__"}', typeSentence],
  ['{"__proto__":{"type":"accept"}}', typeSentence],
];
for (const [text, sentence] of bad)
  test(`a device that says ${JSON.stringify(text)} is told what is expected`, () => {
    const parsed = parseDeviceText(Buffer.from(text));
    assert(!parsed.ok);
    assert.match(parsed.error, sentence);
  });

test('bytes that are no UTF-8 are told to be none', () => {
  const text = Buffer.from('{"type":"accept","x":"\xff"}', 'latin1');
  assert.deepEqual(parseDeviceText(text), {
    ok: false,
    error: 'a text message is a JSON object with a type: not valid UTF-8',
  });
});
