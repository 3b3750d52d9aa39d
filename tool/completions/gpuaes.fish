# fish completion for gpuaes(1)
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

complete -c gpuaes -f
complete -c gpuaes -n __fish_use_subcommand -a 'enc dec' -d 'encrypt or decrypt files'
complete -c gpuaes -n __fish_use_subcommand -a base64 -d 'encode or decode Base64'
complete -c gpuaes -n __fish_use_subcommand -a info -d 'GPUs, rates, CPU or GPU'
complete -c gpuaes -n __fish_use_subcommand -a doctor -d 'what is wrong, and what to do'
complete -c gpuaes -n __fish_use_subcommand -a 'help version'
complete -c gpuaes -n '__fish_seen_subcommand_from help' -a 'enc dec base64 info doctor'

# enc and dec: options have one dash, or two.
set -l enc '__fish_seen_subcommand_from enc dec'
for bits in 128 192 256
    for mode in ctr cbc ecb
        complete -c gpuaes -n $enc -o aes-$bits-$mode
    end
end
for flag in e d a base64 A nopad pbkdf2 salt nosalt p P v
    complete -c gpuaes -n $enc -o $flag
end
for file in in out kfile
    complete -c gpuaes -n $enc -o $file -r -F
end
for value in k iter saltlen S K iv bufsize
    complete -c gpuaes -n $enc -o $value -x
end
complete -c gpuaes -n $enc -o md -x -a 'sha256 sha384 sha512 sha1 md5'
complete -c gpuaes -n $enc -o pass -x -a 'env: file: fd: stdin pass:'
for value in offset length threads
    complete -c gpuaes -n $enc -l $value -x
end
for flag in piece sync no-clobber progress no-progress help
    complete -c gpuaes -n $enc -l $flag
end

set -l base64 '__fish_seen_subcommand_from base64'
complete -c gpuaes -n $base64 -F
complete -c gpuaes -n $base64 -s d -l decode
complete -c gpuaes -n $base64 -s i -l ignore-garbage
complete -c gpuaes -n $base64 -s w -l wrap -x
complete -c gpuaes -n $base64 -l threads -x
complete -c gpuaes -n $base64 -l buffer-size -x
for flag in progress no-progress help version
    complete -c gpuaes -n $base64 -l $flag
end

complete -c gpuaes -n '__fish_seen_subcommand_from info' -l quick
complete -c gpuaes -n '__fish_seen_subcommand_from info' -l seconds -x
complete -c gpuaes -n '__fish_seen_subcommand_from info doctor' -l help
