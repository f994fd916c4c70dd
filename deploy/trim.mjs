/**
 * Deletes what a built server on this machine never loads: development packages, packages whose code is in the bundles of
 * `dist/`, parts of packages that nothing calls, source maps, and binaries for other systems. `npm ci` brings the packages back.
 * Then it starts a server with an empty store once, which stores the code that V8 compiled: the service may not write to `dist/`.
 *
 *   npm run trim
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Packages outside the bundles. */
const loaded = [
  'lmdb',
  'msgpackr',
  'node-av',
  'node-datachannel',
  'piscina',
  'recorder-core',
  'uWebSockets.js',
];
/** Needs of a package that the server does not load: the WebRTC of node-av, and its download of a binary. */
const unused = { 'node-av': ['unzipper', 'werift'] };
/** Binaries of uWebSockets.js for Node 20, 22 and 24 on this system. It has none for musl, so the server does not run there. */
const ownBinaries = new Set(
  [115, 127, 137].map((abi) => `uws_${process.platform}_${process.arch}_${abi}.node`),
);

/** A server stores its code 5 s after the beginning of its start, and its media process later. */
const startMs = 8000;

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');
/** True: npm has installed the tarball of a release, perhaps into the folder of another project. */
const isInstalled = basename(dirname(root)) === 'node_modules';
const packages = isInstalled ? dirname(root) : join(root, 'node_modules');
const server = join(root, 'dist');
const binaries = [packages, join(root, 'deploy/node24/node_modules')];

if (!existsSync(join(server, 'main.js'))) {
  process.stderr.write(
    `trim: ${root} has no dist/main.js, and its sources need all packages\n  npm run build\n`,
  );
  process.exit(1);
}
const before = measure();
const kept = new Set();
if (isInstalled) {
  kept.add(basename(root));
  keepNeeds(dirname(packages), [], true);
}
for (const name of loaded) keep(name);
for (const name of namesIn(packages)) if (!kept.has(name)) strip(join(packages, name));
for (const file of binaries.flatMap(filesIn)) if (isForeign(basename(file))) remove(file);
for (const file of filesIn(server)) if (file.endsWith('.map')) remove(file);
await startOnce();
process.stdout.write(`packages and server: ${before} MiB before, ${measure()} MiB now\n`);

/** Resolves when a server has started, stored its code and stopped; a failure only leaves later starts slower. */
async function startOnce() {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-trim-'));
  const settings = ['api', 'sleep', 'signal', 'media', 'ops'].map((name) => `${name}.listen=127.0.0.1:0`);
  const options = ['--data-dir', directory, ...settings.flatMap((setting) => ['--set', setting])];
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('REVEILLE_')),
  );
  const args = [join(server, 'main.js'), 'serve', ...options];
  const child = spawn(process.execPath, args, { stdio: 'ignore', env });
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill(), startMs);
  await ended.catch(() => undefined);
  clearTimeout(timer);
  rmSync(directory, { recursive: true, force: true });
}

/** Keeps a package and all that it needs. */
function keep(name) {
  const folder = join(packages, name);
  if (kept.has(name) || !existsSync(join(folder, 'package.json'))) return;
  kept.add(name);
  keepNeeds(folder, unused[name] ?? []);
}

/** Keeps the needs of the package in `folder`, and of the packages inside it. */
function keepNeeds(folder, except, isProject = false) {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { dependencies, optionalDependencies, peerDependencies, devDependencies } = about;
  const needs = { ...dependencies, ...optionalDependencies, ...peerDependencies };
  for (const name of Object.keys({ ...needs, ...(isProject && devDependencies) }))
    if (!except.includes(name)) keep(name);
  const inside = join(folder, 'node_modules');
  if (!isProject) for (const name of namesIn(inside)) keepNeeds(join(inside, name), []);
}

/** Names of the packages in a `node_modules`; none if it does not exist. */
function namesIn(folder) {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
  return names.flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((part) => `${name}/${part}`) : name,
  );
}

/** Deletes a package but for its licenses, since the bundles may have its code. */
function strip(folder) {
  for (const name of readdirSync(folder))
    if (!/^(?:licen[cs]e|notice|copying)/i.test(name)) remove(join(folder, name));
}

function isForeign(name) {
  if (name.startsWith('uws_') && name.endsWith('.node')) return !ownBinaries.has(name);
  return name.endsWith('.musl.node');
}

/** Paths below `folder`, without following links. */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : path;
  });
}

function remove(path) {
  rmSync(path, { recursive: true, force: true });
}

/** Disk of the packages and the server, MiB. */
function measure() {
  const files = new Set([server, ...binaries].flatMap(filesIn));
  const bytes = [...files].reduce((sum, file) => sum + diskBytes(lstatSync(file)), 0);
  return Math.round(bytes / 2 ** 20);
}

/** Windows counts no blocks. */
function diskBytes({ blocks = 0, size }) {
  return blocks === 0 ? size : blocks * 512;
}
