/**
 * Reports a run as one line of JSON: the number of passed tests, the files that have tests, and the milliseconds that the tests
 * of each file took. Plain JavaScript: the runner loads its reporters before tsx.
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
    // The runner counts a file without tests as one test with the file's name.
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
