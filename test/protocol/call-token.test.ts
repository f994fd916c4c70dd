/**
 * Call tokens against an oracle outside Node: the openssl command line makes whole tokens that are checked here, and signs again
 * those that were signed here.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { SignJWT } from 'jose';
import { parseDeviceId } from '../../src/model/ids.ts';
import { checkCallToken, signCallToken } from '../../src/protocol/call-token/call-token.ts';
import { TokenKeys, type TokenKey } from '../../src/protocol/call-token/token-keys.ts';
import { succeed } from '../../src/lib/result.ts';
import { base64url, sampleClaims } from '../support/call-tokens.ts';

const absent = spawnSync('openssl', ['version']).status !== 0;
const skip = absent && 'no openssl command on this machine';

const key: TokenKey = { kid: '5f2b9c01', secret: Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)) };
const other: TokenKey = { kid: 'a0b1c2d3', secret: Buffer.alloc(32, 0x5a) };

const head = '{"alg":"HS256","typ":"JWT","kid":"5f2b9c01"}';
const claims =
  '{"iss":"reveille","sub":"TESTDEVICE01","aud":"msgvoip","sid":"0190b1c2-7d3e-7000-8000-0123456789ab",' +
  '"jti":"0190b1c2-7d3e-7000-8000-0123456789cd","iat":1800000000,"exp":1800000090}';

/** base64url of openssl's HMAC-SHA256. */
function opensslMac({ secret }: TokenKey, text: string): string {
  const macopt = `hexkey:${Buffer.from(secret).toString('hex')}`;
  const args = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', macopt, '-binary'];
  const { status, stdout, stderr } = spawnSync('openssl', args, { input: text });
  assert.equal(status, 0, stderr.toString());
  return stdout.toString('base64url');
}

test(
  'a signed token has the documented head and claims, and openssl computes the same signature',
  { skip },
  async () => {
    const token = signCallToken(new TokenKeys([key, other]), sampleClaims);
    const signed = `${base64url(head)}.${base64url(claims)}`;
    assert.equal(token, `${signed}.${opensslMac(key, signed)}`);
  },
);

test("a signed token equals jose's token of the same claims byte for byte, for any device id", async () => {
  const { kid, secret } = key;
  for (const text of ['TESTDEVICE01', '\ufeff"\\/😀', '\u2028\0']) {
    const deviceId = parseDeviceId(text);
    assert.ok(deviceId !== null);
    const ofJose = new SignJWT({ ...(JSON.parse(claims) as object), sub: deviceId });
    ofJose.setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid });
    const token = signCallToken(new TokenKeys([key]), { ...sampleClaims, deviceId });
    assert.equal(token, await ofJose.sign(secret));
  }
});

test(
  'a token signed by openssl is accepted, with either of two live keys and any spelling of its JSON',
  { skip },
  async () => {
    const keys = new TokenKeys([other, key]);
    for (const [header, payload, signer] of [
      [head, claims, key],
      [`{ "kid": "5f2b9c01",\n"typ":"jwt", "alg" :"HS256"}`, claims.replaceAll(',', ' ,\n '), key],
      [head.replace(key.kid, other.kid), claims.replace('"iss"', '"nonce":1,"iss"'), other],
    ] as const) {
      const signed = `${base64url(header)}.${base64url(payload)}`;
      const token = `${signed}.${opensslMac(signer, signed)}`;
      assert.deepEqual(await checkCallToken(keys, token), succeed(sampleClaims));
    }
  },
);

test('a truncated token is refused', async () => {
  const keys = new TokenKeys([key]);
  const token = signCallToken(keys, sampleClaims);
  for (let length = 0; length < token.length; length++) {
    const checked = await checkCallToken(keys, token.slice(0, length));
    assert.ok(!checked.ok, `${length} of ${token.length}`);
  }
  assert.ok((await checkCallToken(keys, token)).ok);
});
