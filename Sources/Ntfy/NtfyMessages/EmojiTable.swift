/// The emoji of the usual shortcodes, which ntfy draws instead of a tag; [ntfy, "Emoji reference"](https://docs.ntfy.sh/emojis/).
enum EmojiTable {
    /// - Returns: `nil` if the tag is a word.
    static func emoji(of tag: String) -> String? { table[tag] }

    private static let table: [String: String] = {
        var table: [String: String] = [:]
        for entry in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            let parts = entry.split(separator: "=", maxSplits: 1)
            table[String(parts[0])] = String(parts[1])
        }
        return table
    }()

    private static let text = """
        +1=👍 -1=👎 100=💯 1st_place_medal=🥇 airplane=✈️ alarm_clock=⏰ alien=👽 ambulance=🚑 anchor=⚓ angry=😠 apple=🍎
        arrow_down=⬇️ arrow_left=⬅️ arrow_right=➡️ arrow_up=⬆️ arrows_counterclockwise=🔄 art=🎨 baby=👶 balloon=🎈
        ballot_box_with_check=☑️ bangbang=‼️ bank=🏦 bar_chart=📊 bath=🛀 battery=🔋 bed=🛏️ beer=🍺 beers=🍻 bell=🔔 bike=🚲
        birthday=🎂 blue_heart=💙 blush=😊 boat=⛵ bomb=💣 book=📖 bookmark=🔖 books=📚 boom=💥 briefcase=💼
        broken_heart=💔 bug=🐛 building_construction=🏗️ bulb=💡 bus=🚌 bust_in_silhouette=👤 cake=🍰 calendar=📆 camera=📷
        candle=🕯️ car=🚗 card_index=📇 cat=🐱 cd=💿 chart_with_downwards_trend=📉 chart_with_upwards_trend=📈 checkered_flag=🏁
        cherry_blossom=🌸 christmas_tree=🎄 city_sunset=🌇 clap=👏 clipboard=📋 clock1=🕐 closed_lock_with_key=🔐 cloud=☁️
        coffee=☕ computer=💻 confetti_ball=🎊 confused=😕 construction=🚧 construction_worker=👷 cookie=🍪 credit_card=💳
        crescent_moon=🌙 crown=👑 cry=😢 crystal_ball=🔮 cyclone=🌀 dancer=💃 dart=🎯 date=📅 desktop_computer=🖥️ dog=🐶
        dollar=💵 door=🚪 droplet=💧 ear=👂 earth_africa=🌍 earth_americas=🌎 earth_asia=🌏 egg=🥚 electric_plug=🔌 email=📧
        envelope=✉️ envelope_with_arrow=📩 euro=💶 exclamation=❗ eyes=👀 facepalm=🤦 factory=🏭 fast_forward=⏩ fax=📠
        file_cabinet=🗄️ file_folder=📁 fire=🔥 fire_engine=🚒 fireworks=🎆 fish=🐟 flashlight=🔦 floppy_disk=💾 fog=🌫️
        footprints=👣 frog=🐸 fuelpump=⛽ game_die=🎲 gear=⚙️ gem=💎 ghost=👻 gift=🎁 globe_with_meridians=🌐 green_apple=🍏
        green_circle=🟢 green_heart=💚 grin=😁 grinning=😀 hammer=🔨 hammer_and_wrench=🛠️ hand=✋ headphones=🎧 heart=❤️
        heavy_check_mark=✔️ heavy_exclamation_mark=❗ heavy_minus_sign=➖ heavy_multiplication_x=✖️ heavy_plus_sign=➕
        hospital=🏥 hotsprings=♨️ hourglass=⌛ hourglass_flowing_sand=⏳ house=🏠 hugs=🤗 hushed=😯 inbox_tray=📥
        incoming_envelope=📨 information_source=ℹ️ interrobang=⁉️ iphone=📱 jack_o_lantern=🎃 joy=😂 key=🔑 keyboard=⌨️ kiss=💋
        label=🏷️ laughing=😆 leaves=🍃 lemon=🍋 link=🔗 lock=🔒 loudspeaker=📢 mag=🔍 mailbox=📫 mailbox_with_mail=📬
        man=👨 mega=📣 memo=📝 microphone=🎤 minidisc=💽 money_with_wings=💸 moneybag=💰 monkey=🐒 moon=🌔 motorcycle=🏍️
        movie_camera=🎥 muscle=💪 musical_note=🎵 mute=🔇 neutral_face=😐 new=🆕 newspaper=📰 no_bell=🔕 no_entry=⛔
        no_entry_sign=🚫 notebook=📓 notes=🎶 octagonal_sign=🛑 ok=🆗 ok_hand=👌 open_file_folder=📂 orange_circle=🟠
        outbox_tray=📤 package=📦 page_facing_up=📄 partying_face=🥳 pause_button=⏸️ pencil=📝 pencil2=✏️ penguin=🐧 phone=☎️
        pill=💊 pizza=🍕 point_right=👉 police_car=🚓 poop=💩 postbox=📮 pray=🙏 printer=🖨️ purple_heart=💜 pushpin=📌
        question=❓ rabbit=🐰 radio=📻 radioactive=☢️ rage=😡 rainbow=🌈 rat=🐀 receipt=🧾 recycle=♻️ red_car=🚗 red_circle=🔴
        relaxed=☺️ repeat=🔁 revolving_hearts=💞 ribbon=🎀 robot=🤖 rocket=🚀 rose=🌹 rotating_light=🚨 runner=🏃 running=🏃
        sad=😢 satellite=📡 scream=😱 scroll=📜 seedling=🌱 shield=🛡️ ship=🚢 shopping_cart=🛒 shower=🚿 shrug=🤷 skull=💀
        sleeping=😴 smile=😄 smiley=😃 smirk=😏 smoking=🚬 snail=🐌 snake=🐍 snowflake=❄️ snowman=⛄ sob=😭 soccer=⚽ sos=🆘
        sound=🔉 sparkles=✨ sparkling_heart=💖 speech_balloon=💬 speaker=🔈 stadium=🏟️ star=⭐ star2=🌟 stop_sign=🛑
        stopwatch=⏱️ sun_with_face=🌞 sunglasses=😎 sunny=☀️ sweat_smile=😅 sync=🔄 syringe=💉 tada=🎉 taxi=🚕 tea=🍵
        telephone=☎️ telescope=🔭 tent=⛺ test_tube=🧪 thermometer=🌡️ thinking=🤔 thought_balloon=💭 thumbsdown=👎 thumbsup=👍
        ticket=🎫 timer_clock=⏲️ toilet=🚽 toolbox=🧰 tooth=🦷 tractor=🚜 traffic_light=🚥 train=🚋 tree=🌳 triangular_flag_on_post=🚩
        trophy=🏆 truck=🚚 tv=📺 umbrella=☔ unlock=🔓 video_camera=📹 video_game=🎮 vibration_mode=📳 warning=⚠️ wastebasket=🗑️
        watch=⌚ wave=👋 white_check_mark=✅ white_circle=⚪ wind_face=🌬️ wink=😉 woman=👩 wrench=🔧 x=❌ yellow_circle=🟡
        yellow_heart=💛 yum=😋 zap=⚡ zzz=💤
        """
}
