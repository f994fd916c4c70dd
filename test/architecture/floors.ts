/** The house: which room stands on which floor. A file imports from lower floors and from its own room. */
import { resolveImport, type SourceFile } from './source-tree.ts';

const floors: readonly (readonly string[])[] = [
  ['base'],
  ['domain'],
  [
    'tgv1',
    'rest',
    'sleep-wire',
    'signal-wire',
    'peer-wire',
    'call-token',
    'link-wire',
    'cluster-wire',
    'video',
  ],
  ['device', 'ports', 'client', 'codec'],
  ['actor', 'store', 'workers', 'webhooks', 'media-link', 'cluster'],
  ['operations', 'relay'],
  ['http', 'sleep-gateway', 'signal-gateway', 'media-legs', 'ops'],
  ['server', 'media-server'],
  ['cli'],
];

/** Rooms on the map that have no file: a map of another house. */
export function emptyRooms(files: readonly SourceFile[]): string[] {
  const used = new Set(files.map(({ path }) => roomOf(path)));
  return floors.flat().filter((room) => !used.has(room));
}

export function floorViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    floorOf(file.path) === -1
      ? [`${file.path} is in no room of the house`]
      : file.imports.flatMap((specifier) => importViolation(file.path, specifier)),
  );
}

function importViolation(path: string, specifier: string): string[] {
  const target = resolveImport(path, specifier);
  if (target === null) return packageViolation(path, specifier);
  if (!target.endsWith('.ts')) return [`${path} imports ${specifier} without its .ts`];
  if (roomOf(target) === roomOf(path) || isBelow(target, path)) return [];
  return [`${path} imports ${target}, which is not on a lower floor`];
}

/** Packages that have their one door, or rooms of their own. */
const doors: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js': /^src\/lib\/uws\.ts$/,
  'node-av': /^src\/codec\//,
  '@nats-io/transport-node': /^src\/cluster\//,
  '@nats-io/nats-core': /^src\/cluster\//,
  '@nats-io/jetstream': /^src\/cluster\//,
  '@nats-io/kv': /^src\/cluster\//,
  ws: /^src\/(?:media-legs\/web-socket\.ts$|cli\/)/,
};

function packageViolation(path: string, specifier: string): string[] {
  const door = doors[packageOf(specifier)];
  return door === undefined || door.test(path) ? [] : [`${path} imports ${specifier}, which it may not`];
}

function packageOf(specifier: string): string {
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

function isBelow(target: string, path: string): boolean {
  return floorOf(target) !== -1 && floorOf(target) < floorOf(path);
}

function roomOf(path: string): string {
  const [top = '', room = '', ...rest] = path.split('/');
  return top === 'src' && rest.length > 0 ? room : '';
}

function floorOf(path: string): number {
  return floors.findIndex((rooms) => rooms.includes(roomOf(path)));
}

/** Each cycle once, as the path around it; imports of types count, since they too tie files together. */
export function importCycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map((file) => [file.path, targetsOf(file)]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (done.has(path)) return;
    const since = trail.indexOf(path);
    if (since !== -1) {
      cycles.push([...trail.slice(since), path].join(' -> '));
      return;
    }
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return cycles;
}

function targetsOf(file: SourceFile): string[] {
  return file.imports.flatMap((specifier) => resolveImport(file.path, specifier) ?? []);
}
