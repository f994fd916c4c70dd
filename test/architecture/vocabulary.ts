/** The words of the field: names and comments are searched for terms of our own that nobody outside would guess. */

export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** The term that a newcomer knows, by the word that it stands in for. */
const instead = new Map(
  Object.entries({
    house: 'deps or context',
    gatehouse: 'listener context',
    doorway: 'upgrade handler',
    desk: 'service',
    shelf: 'KV store',
    vault: 'repository',
    book: 'delivery store',
    ledger: 'write buffer',
    seat: 'session slot',
    displaced: 'superseded',
    burial: 'failover',
    buried: 'failed over',
    bury: 'fail over',
    reclaim: 're-registration',
    whereabouts: 'session locator',
    succession: 'leader election',
    keeper: 'coordinator',
    company: 'worker set',
    attendee: 'signal connection',
    sleeper: 'sleep connection',
    guest: 'viewer',
    lane: 'keyed queue',
    beat: 'heartbeat',
    outlet: 'send queue',
    expel: 'disconnect',
    expelled: 'disconnected',
    deaf: 'unwakeable',
  }),
);

/** Each word of ours in names, comments, texts and documents, with the term to write. */
export function foreignWords(files: readonly TextFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const found = new Set(wordsOf(text).filter((word) => instead.has(word)));
    return [...found].map((word) => `${path} says ${word}: ${instead.get(word)}`);
  });
}

/** Lower-case words of prose and of the parts of names; a plural counts as its singular. */
function wordsOf(text: string): string[] {
  return (text.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => singular(word.toLowerCase()));
}

function singular(word: string): string {
  if (word.endsWith('shelves')) return 'shelf';
  const one = word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
  return instead.has(one) ? one : word;
}

/** A file's head that begins without its noun: it says what is in the file, and not what that is. */
export function headsWithoutNoun(files: readonly TextFile[]): string[] {
  return files
    .filter(({ text }) => /^(?:#![^\n]*\n)?\/\*\*\s*(?:\* )?(?:What|Who|Where|Whether)\b/.test(text))
    .map(({ path }) => `${path} begins with a question word`);
}
