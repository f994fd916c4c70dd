/** SIGHUP reloads each part separately: failed parts are named in the audit log, values in force in the log. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AuditLine } from '../../src/model/audit.ts';
import { linesInFile } from '../support/audit-scene.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const skip = noOpenssl;
const listeners = ['api', 'sleep', 'signal', 'media'] as const;
type Listener = (typeof listeners)[number];

const certificates = Object.fromEntries(
  listeners.map((name) => [name, new TestCertificate(temporaryDirectory({ after }))]),
) as Readonly<Record<Listener, TestCertificate>>;

let server: TestServer;
before(async () => {
  if (skip === false) for (const name of listeners) certificates[name].use('first');
  const overrides = skip === false ? listeners.flatMap((name) => certificates[name].overrides(name)) : [];
  server = await startTestServer({ overrides, media: 'child' });
});
after(() => server.stop());

/** Audit line and log lines of one reload. */
async function reload(): Promise<{ line: AuditLine; logged: TestServer['log']['lines'] }> {
  const before = server.log.lines.length;
  await server.server.reload();
  const line = linesInFile(server.dataDirectory).at(-1);
  assert.equal(line?.action, 'settings.reload');
  return { line, logged: server.log.lines.slice(before) };
}

const wrongFiles: Readonly<Record<string, (certificate: TestCertificate) => void>> = {
  'files without a certificate': (certificate) => certificate.spoil(),
  'the key of another certificate': (certificate) => certificate.mix('second', 'third'),
};

for (const bad of listeners)
  test(
    `a reload with a bad certificate of ${bad} replaces the others, and is audited as failed`,
    { skip },
    async () => {
      for (const [wrong, spoil] of Object.entries(wrongFiles)) {
        for (const name of listeners) certificates[name].use('first');
        assert.equal((await reload()).line.result, 'ok');
        for (const name of listeners) certificates[name].use('second');
        spoil(certificates[bad]);
        const { line, logged } = await reload();
        assert.equal(line.result, 'failed', wrong);
        assert.match(line.reason ?? '', new RegExp(`^${bad} certificate: .+`));
        assert.doesNotMatch(line.reason ?? '', /;/, 'one part has failed');
        for (const name of listeners) {
          const shown = name === bad ? 'first' : 'second';
          assert.equal(await certificateShown(server.ports[name]), shown, `${name} after ${wrong}`);
          const inForce = logged.filter(({ fields }) => (fields as { listener?: string }).listener === name);
          assert.equal(inForce.length, 1, `one line for ${name}`);
          const fields = inForce[0]?.fields as Record<string, string>;
          const { fingerprint256, validTo } = new X509Certificate(certificates[name].certificateOf(shown));
          assert.equal(fields['fingerprint'], fingerprint256);
          assert.equal(fields['not_after'], validTo);
          assert.match(fields['subject'] ?? '', new RegExp(`CN=${shown}`));
        }
        const partly = logged.find(({ message }) => message.startsWith('reload: incomplete'));
        assert.deepEqual(partly?.fields, { problems: [line.reason] });
      }
      const text = await metricsOf(server);
      const expiry = (name: string) =>
        metric(text, `reveille_certificate_expiry_timestamp_seconds{listener="${name}"}`);
      const { validTo } = new X509Certificate(certificates[bad].certificateOf('first'));
      assert.equal(expiry(bad), Date.parse(validTo) / 1000);
    },
  );

test('a reload names each failed part, and has the counts of a valid registry file', async () => {
  const spoil = (...files: readonly string[]): void => {
    for (const file of files) writeFileSync(join(server.dataDirectory, file), '{');
  };
  for (const name of listeners) if (skip === false) certificates[name].use('first');
  const whole = await reload();
  assert.equal(whole.line.result, 'ok');
  assert.ok(whole.logged.some(({ message }) => message === 'reloaded'));
  spoil('token-keys.json');
  const { line } = await reload();
  assert.equal(line.result, 'failed');
  assert.ok(line.ids.counts !== undefined);
  spoil('registry.json', 'ops-tokens.json');
  assert.match(
    (await reload()).line.reason ?? '',
    /registry\.json.*; operators' tokens: .*; keys of call tokens: /,
  );
});
