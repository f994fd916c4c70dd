/** SIGHUP reloads each part by itself: what failed is named in the audit log, and what is in force in the log. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { AuditLine } from '../../src/model/audit.ts';
import { linesInFile } from '../support/audit-scene.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const skip = noOpenssl;
const listeners = ['api', 'sleep', 'signal', 'media'] as const;
type Listener = (typeof listeners)[number];

class Scene {
  readonly server: TestServer;
  readonly certificates: Readonly<Record<Listener, TestCertificate>>;

  constructor(server: TestServer, certificates: Scene['certificates']) {
    this.server = server;
    this.certificates = certificates;
  }

  /** The audit line of one reload, and the log lines of it. */
  async reload(): Promise<{ line: AuditLine; logged: TestServer['log']['lines'] }> {
    const before = this.server.log.lines.length;
    await this.server.server.reload();
    const line = linesInFile(this.server.dataDirectory).at(-1);
    assert.equal(line?.action, 'settings.reload');
    return { line, logged: this.server.log.lines.slice(before) };
  }
}

async function startScene(t: TestContext): Promise<Scene> {
  const made = listeners.map((name) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    return [name, certificate] as const;
  });
  const overrides = made.flatMap(([name, { certFile, keyFile }]) => [
    `${name}.tls_cert_file=${certFile}`,
    `${name}.tls_key_file=${keyFile}`,
  ]);
  const server = await startTestServer({ overrides, media: 'child' });
  t.after(() => server.stop());
  return new Scene(server, Object.fromEntries(made) as unknown as Scene['certificates']);
}

const wrongFiles: Readonly<Record<string, (certificate: TestCertificate) => void>> = {
  'files without a certificate': (certificate) => certificate.spoil(),
  'the key of another certificate': (certificate) => certificate.mix('second', 'third'),
};

for (const bad of listeners)
  test(
    `a reload with a bad certificate of ${bad} replaces the others, and is audited as failed`,
    { skip },
    async (t) => {
      const scene = await startScene(t);
      const { server, certificates } = scene;
      for (const [wrong, spoil] of Object.entries(wrongFiles)) {
        for (const name of listeners) certificates[name].use('first');
        assert.equal((await scene.reload()).line.result, 'ok');
        for (const name of listeners) certificates[name].use('second');
        spoil(certificates[bad]);
        const { line, logged } = await scene.reload();
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
        const partly = logged.find(({ message }) => message.startsWith('reloaded in part'));
        assert.deepEqual(partly?.fields, { problems: [line.reason] });
      }
      const text = await metricsOf(server);
      const expiry = (name: string) =>
        metric(text, `reveille_certificate_expiry_timestamp_seconds{listener="${name}"}`);
      const { validTo } = new X509Certificate(certificates[bad].certificateOf('first'));
      assert.equal(expiry(bad), Date.parse(validTo) / 1000);
    },
  );

test('a reload names each part that failed: the registry file, the tokens and the keys', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { dataDirectory } = server;
  await server.server.reload();
  assert.equal(linesInFile(dataDirectory).at(-1)?.result, 'ok');
  assert.ok(server.log.lines.some(({ message }) => message === 'reloaded'));
  for (const file of ['registry.json', 'ops-tokens.json', 'token-keys.json'])
    writeFileSync(join(dataDirectory, file), '{');
  await server.server.reload();
  const line = linesInFile(dataDirectory).at(-1);
  assert.equal(line?.result, 'failed');
  assert.match(line.reason ?? '', /registry\.json.*; operators' tokens: .*; keys of call tokens: /);
});

test('a reload whose registry file alone is good has its counts in the audit line', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  writeFileSync(join(server.dataDirectory, 'token-keys.json'), '{');
  await server.server.reload();
  const line = linesInFile(server.dataDirectory).at(-1);
  assert.equal(line?.result, 'failed');
  assert.ok(line.ids.counts !== undefined);
});
