/** A step of the story that did not go as it should: what was expected, and what came. */
export class DemoFailure extends Error {
  override readonly name = 'DemoFailure';

  constructor(expected: string, got: unknown) {
    super(`expected ${expected}; got ${typeof got === 'string' ? got : JSON.stringify(got)}`);
  }
}
