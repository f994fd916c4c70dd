import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, type WebhookHeaders } from '../../../src/client/verify-webhook.ts';

const secret = `whsec_${Buffer.from('the secret of a receiver').toString('base64')}`;
const event = { id: 'e-1', type: 'device.signal.online', device_id: 'Tür 1', data: {} };
const body = Buffer.from(JSON.stringify(event));
const sentAt = new Date(1_795_162_200_000);

/** Signs with the reference library. */
function headersOf(text = body.toString(), by = secret, at = sentAt): Record<string, string> {
  return {
    'webhook-id': 'e-1',
    'webhook-timestamp': String(at.getTime() / 1000),
    'webhook-signature': new Webhook(by).sign('e-1', at, text),
  };
}

function verify(headers: WebhookHeaders, given: Uint8Array = body, nowMs = sentAt.getTime()): unknown {
  return verifyWebhook(secret, headers, given, { clock: { wallMs: () => nowMs } });
}

test('a webhook signed by the reference library is accepted', () => {
  assert.deepEqual(verify(headersOf()), event);
});

test('one valid signature of several is enough, as during a change of secrets', () => {
  const headers = headersOf();
  headers['webhook-signature'] = `v1,AAAA v1a,BBBB ${headers['webhook-signature']}`;
  assert.deepEqual(verify(headers), event);
});

const day = 86_400_000;
const refused: readonly (readonly [name: string, headers: WebhookHeaders, body?: Uint8Array])[] = [
  ['with another body', headersOf(), Buffer.from(`${body.toString()} `)],
  ['with another secret', headersOf(body.toString(), 'whsec_AAAA')],
  ['with another id', { ...headersOf(), 'webhook-id': 'e-2' }],
  ['that is a day old', headersOf(body.toString(), secret, new Date(sentAt.getTime() - day))],
  ['that is a day early', headersOf(body.toString(), secret, new Date(sentAt.getTime() + day))],
  ['with a time that is no number', { ...headersOf(), 'webhook-timestamp': '1e9' }],
  ['without a signature', { ...headersOf(), 'webhook-signature': undefined }],
  ['with an empty signature', { ...headersOf(), 'webhook-signature': '' }],
  ['with a repeated header', { ...headersOf(), 'webhook-id': ['e-1', 'e-1'] }],
  ['that is no JSON object', headersOf('[]'), Buffer.from('[]')],
];
for (const [name, headers, given = body] of refused)
  test(`a webhook ${name} is refused`, () => {
    assert.equal(verify(headers, given), null);
  });

test('a webhook is refused one second beyond the tolerance', () => {
  assert.deepEqual(verify(headersOf(), body, sentAt.getTime() + 300_000), event);
  assert.equal(verify(headersOf(), body, sentAt.getTime() + 301_000), null);
});

test('a malformed secret throws', () => {
  for (const wrong of ['', 'whsec_', 'a secret', 'whsec_not base64'])
    assert.throws(() => verifyWebhook(wrong, headersOf(), body), TypeError);
});
