/**
 * The fenced blocks of a Markdown page, with the marks in HTML comments above them that define how `npm run test:with -- docs`
 * runs each:
 *
 *   <!-- docs-test: server -->                 a server with the demo registry runs, as `npm start` starts it
 *   <!-- docs-test: until TEXT -->             the block keeps running once it has printed TEXT, and is ended with the page
 *   <!-- docs-test: take NAME after TEXT -->   $NAME is the word that an earlier block printed last after TEXT
 *   <!-- docs-test: stop -->                   running blocks are ended first
 *   <!-- docs-test: installed -->              `npm ci` is skipped: the packages are there, the registry is not
 *   <!-- docs-test: skip REASON -->            the block is not run
 */
import { readdirSync } from 'node:fs';
import { checkout } from './checkout.ts';

/** Paths, from the root, of every page, including those of examples and configurations. */
export function documentPages(): string[] {
  const folders = ['docs/', 'config/', 'deploy/'].flatMap((folder) =>
    readdirSync(new URL(folder, checkout), { recursive: true, encoding: 'utf8' }).map(
      (path) => folder + path,
    ),
  );
  return [...readdirSync(checkout), ...folders].filter((path) => path.endsWith('.md')).sort();
}

export interface DocumentBlock {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly marks: readonly Mark[];
}

export interface Mark {
  readonly kind: 'server' | 'stop' | 'installed' | 'until' | 'take' | 'skip';
  /** Text to wait for, or the reason. */
  readonly text: string;
  readonly name: string;
}

/** Throws for a comment that is not a valid mark, and for one that no block follows. */
export function readBlocks(page: string): DocumentBlock[] {
  const blocks: DocumentBlock[] = [];
  let marks: Mark[] = [];
  let open: { line: number; indent: string; fence: string; language: string; lines: string[] } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    const mark = /^ *<!-- docs-test: (.+) -->$/.exec(line)?.[1];
    const [, indent = '', fence, language = ''] = /^( *)(`{3,})(\w*)/.exec(line) ?? [];
    if (open !== null && line.trim() !== open.fence) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    } else if (open !== null) {
      blocks.push({ line: open.line, language: open.language, text: open.lines.join('\n'), marks });
      [open, marks] = [null, []];
    } else if (mark !== undefined) {
      marks.push(readMark(mark, index + 1));
    } else if (fence !== undefined) {
      open = { line: index + 1, indent, fence, language, lines: [] };
    } else if (marks.length > 0 && line.trim() !== '') {
      throw new Error(`line ${index + 1}: no block follows the docs-test comment above`);
    }
  }
  if (open !== null || marks.length > 0) throw new Error('the page ends within a block or before it');
  return blocks;
}

function readMark(mark: string, line: number): Mark {
  const [, kind, name = '', text = ''] =
    /^(server|stop|installed)$/.exec(mark) ??
    /^(until|skip) ()(.+)$/.exec(mark) ??
    /^(take) (\w+) after (.+)$/.exec(mark) ??
    [];
  if (kind === undefined)
    throw new Error(`line ${line}: "${mark}" is none of server, stop, installed, until, take and skip`);
  return { kind: kind as Mark['kind'], name, text };
}

/** True for blocks that a reader pastes into a shell. */
export function isShell({ language }: DocumentBlock): boolean {
  return ['sh', 'bash', 'shell', 'console'].includes(language);
}

/** Reason why a block is not run; null: it is run. */
export function skipReason({ marks }: DocumentBlock): string | null {
  return marks.find((mark) => mark.kind === 'skip')?.text ?? null;
}
