/** Files with a byte order mark, as editors on Windows write them, are read like others. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer } from '../support/test-server.ts';

const mark = '\ufeff';
const listeners = ['api', 'sleep', 'signal', 'media'] as const;

function addMark(path: string): void {
  writeFileSync(path, `${mark}${readFileSync(path, 'utf8')}`);
}

test(
  'every listener uses certificate files with a byte order mark, also after a reload',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    const copies = temporaryDirectory(t);
    const usual = process.env['TMPDIR'];
    process.env['TMPDIR'] = copies;
    t.after(() => (usual === undefined ? delete process.env['TMPDIR'] : (process.env['TMPDIR'] = usual)));
    const use = (name: string): void => {
      certificate.use(name);
      addMark(certificate.certFile);
      addMark(certificate.keyFile);
    };
    use('first');
    const overrides = listeners.flatMap((section) => certificate.overrides(section));
    const server = await startTestServer({ overrides });
    t.after(() => server.stop());
    for (const listener of listeners)
      assert.equal(await certificateShown(server.ports[listener]), 'first', listener);
    use('second');
    await server.server.reload();
    for (const listener of listeners)
      assert.equal(await certificateShown(server.ports[listener]), 'second', listener);
    const left = readdirSync(copies).filter((name) => name.startsWith('reveille-tls-'));
    assert.deepEqual(left, [], 'no copy of a key is left behind');
  },
);
