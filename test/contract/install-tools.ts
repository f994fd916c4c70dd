/**
 * Installs third-party tools for docs/openapi.yaml: linters, a validating proxy, a type generator. They form a separate project
 * (package.json in this folder), outside the tree that our own checks read.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';
import { toolsFolder } from './contract-tools.ts';

const project = fileURLToPath(new URL('test/contract/', checkout));
const names = ['package.json', 'package-lock.json'];
/** Copied last, so that an interrupted installation starts over. */
const installed = join(toolsFolder, 'installed.json');

function isInstalled(): boolean {
  return (
    existsSync(installed) && readFileSync(installed).equals(readFileSync(join(project, 'package-lock.json')))
  );
}

export function installContractTools(): void {
  if (isInstalled()) return;
  mkdirSync(toolsFolder, { recursive: true });
  for (const name of names) copyFileSync(join(project, name), join(toolsFolder, name));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', args, { cwd: toolsFolder, stdio: 'inherit' });
  copyFileSync(join(project, 'package-lock.json'), installed);
}
