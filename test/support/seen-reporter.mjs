/**
 * The report of a run, as one line of JSON: how many tests passed, the files in which a test stands, and the milliseconds that the
 * tests of each took. Plain JavaScript: the runner loads its reporters before it loads tsx.
 */
import { fileURLToPath } from 'node:url';

/**
 * @param {AsyncIterable<{ type: string, data: { file?: string, name?: string, skip?: unknown, nesting: number,
 *   details: { duration_ms: number } } }>} source
 */
// oxlint-disable-next-line import/no-default-export -- the form in which the runner takes a reporter
export default async function* seenReporter(source) {
  const seen = new Set();
  const empty = new Set();
  const took = new Map();
  let passed = 0;
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const file = data.file?.startsWith('file:') === true ? fileURLToPath(data.file) : data.file;
    // A file without a test is counted as a test of its own name.
    if (file === undefined || data.name === undefined) continue;
    if (file.endsWith(data.name)) {
      empty.add(file);
      continue;
    }
    seen.add(file);
    if (data.nesting === 0) took.set(file, (took.get(file) ?? 0) + data.details.duration_ms);
    if (type === 'test:pass' && data.skip === undefined) passed += 1;
  }
  yield `${JSON.stringify({ passed, seen: [...seen], empty: [...empty], took: [...took] })}\n`;
}
