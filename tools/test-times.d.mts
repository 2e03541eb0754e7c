export function testTimes(folder: string): readonly string[];
