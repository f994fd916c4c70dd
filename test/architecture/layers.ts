/** The layers of `src/`, highest first: a file imports from a lower layer or from its own. */
import { resolveImport, type SourceFile } from './source-tree.ts';

const layers = [
  'tools',
  'cli',
  'client',
  'console',
  'server',
  'gateways',
  'edge',
  'cluster',
  'webhooks',
  'media',
  'storage',
  'core',
  'telemetry',
  'protocol',
  'model',
  'lib',
] as const;

/** Entry files directly under `src/`, which may import every layer. */
const entryFiles = new Set(['src/typescript.mjs', 'src/main.ts', 'src/command-line.ts', 'src/program.ts']);

/** Layers whose folders must not import each other. */
const separateFolders = new Set(['protocol']);

/** The client is published separately, so it imports only these layers. */
const clientLayers = new Set(['client', 'protocol', 'model', 'lib']);

/** It runs in a browser, so it imports only types from other layers. */
const browserLayer = 'console';

export const filesInFolderMax = 25;
const folderLevelsMax = 2;

/** Layers without a file: the list is outdated. */
export function emptyLayers(files: readonly SourceFile[]): string[] {
  const used = new Set(files.map(({ path }) => layerOf(path)));
  return layers.filter((layer) => !used.has(layer));
}

export function layerViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    hasPlace(file.path)
      ? file.imports.flatMap((specifier) => importViolation(file.path, specifier))
      : [`${file.path} is in no layer`],
  );
}

/** Value imports from outside into browser code. */
export function browserViolations(files: readonly SourceFile[]): string[] {
  const valueImport = /^import\s+(?!type\b)[^'"]*from\s*['"]([^'"]+)['"]/gm;
  const isBeyond = (path: string, specifier: string): boolean => {
    const target = resolveImport(path, specifier);
    return target === null ? specifier.startsWith('node:') : layerOf(target) !== browserLayer;
  };
  return files
    .filter(({ path }) => layerOf(path) === browserLayer)
    .flatMap(({ path, code }) =>
      Array.from(code.matchAll(valueImport), ([, specifier = '']) => specifier)
        .filter((specifier) => isBeyond(path, specifier))
        .map((specifier) => `${path} imports a value of ${specifier}`),
    );
}

/** Folders with more files, or more levels, than a reader can survey. */
export function folderViolations(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(folderOf(path), (counts.get(folderOf(path)) ?? 0) + 1);
  return [...counts].flatMap(([folder, count]) => [
    ...(count > filesInFolderMax ? [`${folder} holds ${count} files; ${filesInFolderMax} are allowed`] : []),
    ...(folder.split('/').length - 1 > folderLevelsMax ? [`${folder} is more than two levels deep`] : []),
  ]);
}

function importViolation(path: string, specifier: string): string[] {
  const target = resolveImport(path, specifier);
  if (target === null) return packageViolation(path, specifier);
  if (!target.endsWith('.ts')) return [`${path} imports ${specifier} without its .ts`];
  return entryFiles.has(path) || mayImport(path, target) ? [] : [`${path} may not import ${target}`];
}

function mayImport(path: string, target: string): boolean {
  const own = layerOf(path);
  const other = layerOf(target);
  if (own === other) return !separateFolders.has(own) || folderOf(path) === folderOf(target);
  if (own === 'client' && !clientLayers.has(other)) return false;
  return rankOf(other) > rankOf(own);
}

/** Packages that only some files may import, with those files. */
const importersOf: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js': /^src\/lib\/(?:uws|connections\/uws-binary)\.ts$/,
  fastify: /^src\/gateways\/(?:ops|console)\//,
  '@fastify/etag': /^src\/gateways\/console\//,
  'node-datachannel': /^src\/media\/webrtc\//,
  'node-av': /^src\/media\/codec\//,
  '@nats-io/transport-node': /^src\/cluster\//,
  '@nats-io/nats-core': /^src\/cluster\//,
  '@nats-io/jetstream': /^src\/cluster\//,
  '@nats-io/kv': /^src\/cluster\//,
  ws: /^src\/(?:lib\/connections\/web-socket-library\.ts$|cli\/|tools\/)/,
};

function packageViolation(path: string, specifier: string): string[] {
  const importers = importersOf[packageOf(specifier)];
  return importers === undefined || importers.test(path)
    ? []
    : [`${path} imports ${specifier}, which it may not`];
}

function packageOf(specifier: string): string {
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

function hasPlace(path: string): boolean {
  return entryFiles.has(path) || rankOf(layerOf(path)) !== -1;
}

/** The layer of a file; empty for a file directly under `src/` or outside it. */
function layerOf(path: string): string {
  const [top = '', layer = '', ...rest] = path.split('/');
  return top === 'src' && rest.length > 0 ? layer : '';
}

function rankOf(layer: string): number {
  return (layers as readonly string[]).indexOf(layer);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Import cycles, each once, as the path around it; type imports count, since they couple files as well. */
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
