/** An oracle outside Node: one vector's signature, computed step by step by the openssl command line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { explainSigning } from '../../src/protocol/tgv1/sign-request.ts';
import { demoCredential, unsigned } from '../support/signed-requests.ts';

function openssl(args: readonly string[], input: string): string {
  const { status, stdout, stderr } = spawnSync('openssl', args, { input, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.trim().split(/\s/).at(-1) ?? '';
}

function sha256(text: string): string {
  return openssl(['dgst', '-sha256', '-hex'], text);
}

function hmac(keyHex: string, text: string): string {
  return openssl(['dgst', '-sha256', '-hex', '-mac', 'HMAC', '-macopt', `hexkey:${keyHex}`], text);
}

const absent = spawnSync('openssl', ['version']).status !== 0;

test(
  'openssl computes the same signature of a wakeup',
  { skip: absent && 'no openssl command on this machine' },
  () => {
    const body = '{"device_id":"门铃-01"}';
    const steps = explainSigning(
      unsigned({ method: 'POST', path: '/v1/device/wakeup-request/', rawQuery: '', body: Buffer.from(body) }),
    );

    const bodyHash = sha256(body);
    const list = 'content-length;content-type;x-tg-algorithm;x-tg-app-id;x-tg-content-sha256;x-tg-date';
    const canonical = [
      'POST',
      '/v1/device/wakeup-request',
      '',
      'content-length:25',
      'content-type:application/json',
      'x-tg-algorithm:TGV1-HMAC-SHA256',
      'x-tg-app-id:2818153',
      `x-tg-content-sha256:${bodyHash}`,
      'x-tg-date:20261120T083000Z',
      list,
      bodyHash,
    ].join('\n');
    const toSign = `TGV1-HMAC-SHA256\n20261120T083000Z\n20261127/tgv1_request\n${sha256(canonical)}`;
    const k1 = hmac(Buffer.from(`TGV1${demoCredential.secretKey}`).toString('hex'), '20261120');
    const k3 = hmac(hmac(k1, '/v1/device/wakeup-request'), 'tgv1_request');

    assert.equal(steps.signingKeyHex, k3);
    assert.equal(steps.signature, hmac(k3, toSign));
  },
);
