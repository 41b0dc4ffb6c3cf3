/**
 * Guards that no test can miss, each with the reason: without them the statement still does the
 * same. One that matches no mutant any more is an error, so that this list does not outlive the
 * code.
 */
export const EQUIVALENT = []
