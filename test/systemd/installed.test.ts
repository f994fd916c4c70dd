/**
 * Follows the systemd part of deploy/README.md word for word: on a Debian 13 booted by systemd, the page's block installs the
 * packed tarball, and its units run, wake a device, reload, and adopt the next release.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { bindInDebian, npmInDebian } from '../support/debian-root.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { bootDebian } from './booted-debian.ts';

const page = readFromRoot('deploy/README.md');
/** Working directory of the page's reader, with a tarball and settings. */
const work = temporaryDirectory({ after });

function inCheckout(program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: fileURLToPath(checkout), encoding: 'utf8' }).trim();
}

/** The first block of the systemd part. */
function installBlock(): string {
  const [, block] = /^## systemd$[\s\S]*?^```sh\n([\s\S]*?)^```/m.exec(page) ?? [];
  return block ?? assert.fail('the page has no block');
}

inCheckout('npm', 'run', '-s', 'build');
inCheckout('npm', 'pack', '--silent', '--pack-destination', work);
assert.equal(readdirSync(work).length, 1);
const init = [
  'init',
  '--yes',
  '--config',
  join(work, 'reveille.json'),
  '--data-dir',
  join(work, 'elsewhere'),
];
inCheckout(process.execPath, 'dist/main.js', ...init);
const cache = inCheckout('npm', 'config', 'get', 'cache');
mkdirSync(cache, { recursive: true });

const type = await bootDebian({ after }, [
  bindInDebian(process.execPath, '/usr/local/bin/node'),
  npmInDebian(),
  // npm's cache has the archives of the lock file since the checkout was installed.
  bindInDebian(cache, '/root/.npm'),
  'echo offline=true >root/.npmrc',
  bindInDebian(work, '/root/work'),
]);
/** Prefix of the command line, as the page gives it. */
const asServer = 'sudo -u reveille reveille --data-dir /var/lib/reveille';
const key = '/var/lib/reveille/key.json';

test("the block of the page installs the tarball, and the unit's server starts", async () => {
  await type(`cd work\n${installBlock()}`);
  await type(`until ${asServer} status --site; do sleep 0.5; done >/dev/null 2>&1`);
  assert.equal(await type('systemctl is-active reveille'), 'active\n');
  assert.match(await type('reveille version'), /^reveille \d/);
});

test('a sleeping device of the installed server is woken', async () => {
  await type(`
    ${asServer} application add app --name app
    ${asServer} product add doorbell --app app
    ${asServer} device add DOOR-1 --product doorbell
    ${asServer} credential create --app app --output ${key}
    systemd-run --uid reveille --unit door reveille --data-dir /var/lib/reveille simulate --only-sleep
    until ${asServer} status DOOR-1 | grep -q asleep; do sleep 0.5; done`);
  assert.match(await type(`${asServer} wake DOOR-1 --credential ${key}`), /the packet left at/);
});

test('a reload starts a core of the installed release, and disconnects no sleeping device', async () => {
  assert.match(page, /unpacked elsewhere and renamed\), then `systemctl reload reveille`/);
  const asleep = await type(`${asServer} status DOOR-1 | grep -o 'asleep since [^ ]*'`);
  await type(`
    cp -a /opt/reveille /opt/next
    sed -i 's/"version": "[^"]*"/"version": "99.0.0"/' /opt/next/package.json
    mv /opt/reveille /opt/former
    mv /opt/next /opt/reveille
    systemctl reload reveille`);
  assert.match(await type(`${asServer} status --site`), /^core +up +\d+ +99\.0\.0 /m);
  assert.equal(await type(`${asServer} status DOOR-1 | grep -o 'asleep since [^ ]*'`), asleep);
});
