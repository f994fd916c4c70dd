/** The certificates in force: a reload replaces one by another that is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificatesInForce } from '../../../../src/server/config/certificates-in-force.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../../../support/test-certificate.ts';

const dayMs = 86_400_000;

test('a certificate that has expired does not replace the one in force', { skip: noOpenssl }, async (t) => {
  const certificate = new TestCertificate(temporaryDirectory(t));
  certificate.use('first', 9);
  const settings = loadSettings({ env: {}, overrides: certificate.overrides('api') });
  const clock = { wallMs: () => Date.now() + 3 * dayMs };
  const inForce = new CertificatesInForce(settings, { log: new FakeLog(), clock });
  const before = inForce.expiriesS();
  certificate.use('second', 2);
  const kept = await inForce.reload('api', () => assert.fail('the listener was asked to reload'));
  assert.match(kept ?? '', /^api certificate: .*current\.crt has expired: /);
  assert.deepEqual(inForce.expiriesS(), before);
  certificate.use('third', 5);
  assert.equal(await inForce.reload('api', async () => null), null);
});
