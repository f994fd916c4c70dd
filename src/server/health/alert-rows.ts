/** Rows of docs/alerts.md, which is part of the package: meaning and cure of each alert. */
import { readFile } from 'node:fs/promises';

export interface AlertRow {
  readonly meaning: string;
  readonly cure: string;
}

const page = new URL('../../../docs/alerts.md', import.meta.url);

/** By name of the alert; empty if the page is missing. Keeps backticks, and replaces links by their text. */
export async function readAlertRows(): Promise<ReadonlyMap<string, AlertRow>> {
  const text = await readFile(page, 'utf8').catch(() => '');
  const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return new Map(
    rows.flatMap(([, name = '', meaning = '', cure = '']) =>
      name.startsWith('`Reveille')
        ? [[name.replaceAll('`', ''), { meaning: plain(meaning), cure: plain(cure) }] as const]
        : [],
    ),
  );
}

function plain(cell: string): string {
  return cell.replaceAll(/\[([^[\]]+)\]\([^()]*\)/g, '$1').replaceAll(/\b_([^_`]+)_\b/g, '$1');
}
