/** What a push says, in both formats. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope, readMessage } from '../../../docs/examples/backend/push-message.ts';
import { jsonMessage, xmlMessage } from '../../support/simulated-messaging-app.ts';

const call = {
  roomId: 'room-1',
  sessionKey: 'key/+=',
  serverToken: 'token==',
  modelId: 'model_1',
  deviceId: 'TESTDEVICE01',
  payload: '<door> & "garden"',
};

test('a call is read from JSON and from XML', () => {
  assert.deepEqual(readMessage(jsonMessage(call)), call);
  assert.deepEqual(readMessage(xmlMessage(call)), call);
});

test('a call without a payload has an empty one', () => {
  const { payload: _, ...rest } = JSON.parse(jsonMessage(call)) as Record<string, unknown>;
  delete rest['Payload'];
  assert.deepEqual(readMessage(JSON.stringify(rest)), { ...call, payload: '' });
});

for (const field of ['RoomId', 'SessionKey', 'ServerToken', 'ModelId', 'Sn'])
  test(`a call without ${field}, or with an empty one, is none`, () => {
    const message = JSON.parse(jsonMessage(call)) as Record<string, unknown>;
    for (const value of [undefined, '', null, 7])
      assert.equal(readMessage(JSON.stringify({ ...message, [field]: value })), null, String(value));
  });

test('another event is told by its name', () => {
  assert.deepEqual(readMessage('{"Event":"debug_demo","Action":"join_voip_room"}'), { event: 'debug_demo' });
  assert.deepEqual(readMessage('{"Event":"iot_voip_notify","Action":"other"}'), { event: 'iot_voip_notify' });
  assert.deepEqual(readMessage('<xml><Event>debug_demo</Event></xml>'), { event: 'debug_demo' });
  assert.deepEqual(readMessage('{"MsgType":"text"}'), { event: '' });
});

test('the envelope is read from JSON and from XML', () => {
  assert.equal(readEnvelope('{"ToUserName":"gh_1","Encrypt":"abc="}'), 'abc=');
  assert.equal(
    readEnvelope('<xml><ToUserName>gh_1</ToUserName><Encrypt><![CDATA[abc=]]></Encrypt></xml>'),
    'abc=',
  );
  assert.equal(readEnvelope(' <xml>\n <Encrypt> abc= </Encrypt>\n</xml>\n'), 'abc= ');
});

test('text in XML is unescaped once, and what has elements of its own is passed over', () => {
  const envelope = (inner: string): string | null => readEnvelope(`<xml>${inner}</xml>`);
  assert.equal(envelope('<Encrypt>&lt;&amp;lt;&gt;&quot;&apos;&unknown;</Encrypt>'), `<&lt;>"'&unknown;`);
  assert.equal(envelope('<List><Item>1</Item></List><Encrypt>abc</Encrypt>'), 'abc');
  assert.equal(envelope('<Encrypt><Deeper>abc</Deeper></Encrypt>'), null);
});

const malformed = [
  '',
  'abc',
  '[]',
  'null',
  '"Encrypt"',
  '{"Encrypt":7}',
  '{"encrypt":"abc"}',
  '<xml>',
  '<xml></xml>',
  '<Encrypt>abc</Encrypt>',
  '<xml><Encrypt>abc</xml>',
  '<xml><Encrypt><![CDATA[abc</Encrypt></xml>',
  '<xml><Encrypt><![CDATA[abc]]> more</Encrypt></xml>',
  '<xml>words<Encrypt>abc</Encrypt></xml>',
  '<xml><Encrypt>abc</Encrypt>words</xml>',
];

for (const body of malformed)
  test(`an envelope like ${body === '' ? 'nothing' : body} is none`, () =>
    assert.equal(readEnvelope(body), null));
