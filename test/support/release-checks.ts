/** Checks a checkout before its release: the tree, the tag, the versions, and the changelog entry. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Topics of the changelog's Upgrade paragraph, in their order. */
const upgradeTopics = ['To do', 'Closes', 'Formats', 'Settings'] as const;

export interface Release {
  readonly version: string;
  readonly tag: string;
}

/** Throws when package.json has no three-part version. */
export function readRelease(root: string): Release {
  const { version } = readJson(root, 'package.json');
  if (!/^\d+\.\d+\.\d+$/.test(version ?? ''))
    throw new Error(`package.json: expected a version like 1.2.3, not ${version}`);
  return { version: version ?? '', tag: `v${version}` };
}

/** Problems as sentences, each with what to do; empty: it can be released. Throws when git or a file cannot be read. */
export function findReleaseProblems(root: string, { version, tag }: Release): string[] {
  const changed = git(root, 'status', '--porcelain');
  const problems: string[] = [];
  if (changed !== '') problems.push(`the tree is not clean: commit or remove\n${changed}`);
  if (git(root, 'tag', '--list', tag) !== '')
    problems.push(`${tag} is tagged already: raise the version of package.json`);
  if (readJson(root, 'npm-shrinkwrap.json').version !== version)
    problems.push(`npm-shrinkwrap.json has another version than ${version}: npm install --package-lock-only`);
  return [...problems, ...findChangelogProblems(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)];
}

export function findChangelogProblems(changelog: string, version: string): string[] {
  const [, ...sections] = changelog.split(/^## /m);
  const entry = sections.find((section) => section.startsWith(`[${version}]`));
  if (entry === undefined) return [`CHANGELOG.md has no entry: ## [${version}] - YYYY-MM-DD`];
  const hasDay = /^\[[^\]]+\] - \d{4}-\d\d-\d\d$/.test(entry.split('\n')[0] ?? '');
  const problems = findUpgradeProblems(bodyOf(entry), version);
  if (hasDay) return problems;
  return [`CHANGELOG.md: the entry of ${version} has no day: ## [${version}] - YYYY-MM-DD`, ...problems];
}

function findUpgradeProblems(body: string, version: string): string[] {
  const [first = '', ...others] = body.split(/^### /m).slice(1);
  if (!first.startsWith('Upgrade\n')) {
    const elsewhere = others.some((part) => part.startsWith('Upgrade\n'));
    return [
      `CHANGELOG.md: the entry of ${version} has to ${elsewhere ? 'begin with' : 'have'} ### Upgrade, for operators`,
    ];
  }
  return upgradeTopics
    .filter((topic) => !new RegExp(`^- \\*\\*${topic}\\*\\*: \\S`, 'm').test(first))
    .map((topic) => `CHANGELOG.md: the Upgrade of ${version} does not say: - **${topic}**: …`);
}

function bodyOf(section: string): string {
  return section.slice(section.indexOf('\n')).trim();
}

function readJson(root: string, name: string): { readonly version?: string } {
  return JSON.parse(readFileSync(join(root, name), 'utf8')) as { readonly version?: string };
}

function git(root: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
