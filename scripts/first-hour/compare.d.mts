export function patternOf(documented: string): RegExp
