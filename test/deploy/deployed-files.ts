/** Reads the files of `deploy/`: YAML, the server's settings in them, and references between them. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { loadSettings, variablePrefix } from '../../src/server/config/settings.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';

/** Absolute path of a file below `deploy/`, for tools. */
export function deployedPath(path: string): string {
  return fileURLToPath(new URL(`deploy/${path}`, checkout));
}

export function readDeployed(path: string): string {
  return readFromRoot(`deploy/${path}`);
}

export function namesIn(folder: string): string[] {
  return readdirSync(deployedPath(folder)).sort();
}

/** Supports merge keys, as compose files use them. */
export function readYaml(path: string): unknown {
  return parse(readDeployed(path), { merge: true });
}

/** Reads all documents of a file; throws for an error in any. */
export function readDocuments(path: string): unknown[] {
  return parseAllDocuments(readDeployed(path)).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${String(document.errors[0])}`);
    return document.toJS();
  });
}

/** Settings of a server with these environment variables; unrelated variables are ignored. Throws for invalid ones. */
export function settingsOf(env: Readonly<Record<string, string>>, overrides: string[] = []): Settings {
  const ours = Object.entries(env).filter(([name]) => name.startsWith(variablePrefix));
  return loadSettings({ env: Object.fromEntries(ours), overrides });
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?why}` by the value in `values`, or by the default. */
export function substitute(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, given?: string) => {
    const value = values[name] ?? (kind === '-' ? given : undefined);
    if (value === undefined) throw new Error(`nothing sets ${name}`);
    return value;
  });
}
