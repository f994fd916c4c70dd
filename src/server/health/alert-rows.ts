/** The rows of docs/alerts.md, which comes with the package: the meaning of each alert, and its cure. */
import { readFile } from 'node:fs/promises';

export interface AlertRow {
  readonly meaning: string;
  readonly cure: string;
}

const page = new URL('../../../docs/alerts.md', import.meta.url);

/** By the alert. Empty where the page is missing. Code stays between backticks, links become their text. */
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
